"""`manage.py read_receipts`: fetch the reports that a provider mails, and keep what they prove."""

from collections import Counter
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from delivery.channels.registry import adapter_for
from delivery.errors import BadReceiptError, UnknownAdapterError
from delivery.receipts import take
from delivery.timing import boottime
from ledgers.clock import database_now
from ledgers.finding import find_channel
from ledgers.management.command import Answer, LedgerCommand, MisuseError, at_least_one

TOTAL_S = 300.0


class Command(LedgerCommand):
    help = (
        "Read the mailbox that reports about a channel's mail come to (bounces, and deliveries\n"
        "where the channel asks for them), and keep each as evidence. The mailbox is only read;\n"
        "a report that was read before counts once. Run it every few minutes."
    )
    lesson = """
        A bounce proves that the mail had been accepted: it is shown, and nothing is sent again.

        Exit codes: 0 read · 1 the mailbox could not be read
                    2 no such channel, or it has no mailbox for reports

        Examples:
          manage.py read_receipts --channel mail
          manage.py read_receipts --channel mail --days 30 --json
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--channel", required=True, help="the channel, by its slug")
        parser.add_argument(
            "--days", type=at_least_one, default=7, help="no older ones (%(default)s)"
        )

    def answer(self, options: dict[str, Any]) -> Answer:
        channel = find_channel(options["channel"])
        since = database_now() - timedelta(days=options["days"])
        counts: Counter[str] = Counter(read=0, new=0, matched=0, repeated=0, not_ours=0)
        error = ""
        try:
            adapter = adapter_for(channel)
            for posted in adapter.fetch_receipts(since, boottime() + TOTAL_S):
                counts["read"] += 1
                try:
                    taken = take(channel, posted)
                except BadReceiptError:
                    counts["not_ours"] += 1  # another sender's bounce may lie there as well
                    continue
                counts.update(new=taken.new, matched=taken.matched, repeated=taken.repeated)
        except UnknownAdapterError as unknown:
            raise MisuseError(str(unknown), "channel") from unknown
        except BadReceiptError as bad:
            if "no mailbox" in str(bad):
                raise MisuseError(str(bad), "channel") from bad
            error = str(bad)
        text = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())
        value = {"channel": channel.slug, **counts, "error": error}
        return Answer(value, f"{error}\n{text}" if error else text, finding=bool(error))
