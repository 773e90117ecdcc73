"""`manage.py channel_check`: ask a channel's provider who we are to it, and compare."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandParser

from delivery.channels.declaration import Declaration
from delivery.channels.registry import adapter_for
from delivery.checking import Kept, Verification, keep, verification_of
from delivery.credentials import can_introspect
from delivery.errors import UnknownAdapterError
from delivery.policy import complaints, longest_retry_s
from delivery.ways import open_way
from ledgers.clock import database_now
from ledgers.finding import find_channel
from ledgers.management.command import Answer, LedgerCommand, MisuseError, person_at_shell
from ledgers.management.words import plain, table
from ledgers.models import Channel

SKEWED_S = 5.0


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was looked at. `fine`: None where nobody could tell."""

    name: str
    fine: bool | None
    text: str


class Command(LedgerCommand):
    help = (
        "Ask the provider of a channel who its credential is and what it may do, and compare:\n"
        "account, scopes, whether it answers, its clock, and the schedule against its window.\n"
        "Nothing is submitted. What it says is kept on the credential; holds that it clears end."
    )
    lesson = """
        A provider that cannot tell is no finding; the line says so.

        Exit codes: 0 nothing is wrong · 1 something is, as the lines say
                    2 no such channel, or its adapter is not installed

        Examples:
          manage.py channel_check slack-ops
          manage.py channel_check slack-ops --json
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the channel")

    def answer(self, options: dict[str, Any]) -> Answer:
        channel = find_channel(options["slug"])
        lines = list(_looked_at(channel))
        wrong = [line for line in lines if line.fine is False]
        value = {
            "channel": channel.slug,
            "adapter": channel.adapter,
            "credential": channel.credential.name,
            "fine": not wrong,
            "checks": {line.name: {"fine": line.fine, "text": line.text} for line in lines},
        }
        rows = [(line.name, _MARKS[line.fine], plain(line.text)) for line in lines]
        said = f"{len(wrong)} wrong: {', '.join(line.name for line in wrong)}" if wrong else "fine"
        text = f"{table((channel.slug, '', ''), rows)}\n\n{said}"
        return Answer(value, text, finding=bool(wrong))


_MARKS = {True: "fine", False: "WRONG", None: "untold"}


def _looked_at(channel: Channel) -> Iterator[Line]:
    try:
        declared = adapter_for(channel).declare()
    except UnknownAdapterError as error:
        raise MisuseError(str(error), "slug") from error
    way = open_way(channel)
    if not way.fingerprint:
        yield Line(
            "secret", fine=False, text="; ".join(why for why in way.held if "credential" in why)
        )
    elif not can_introspect(way.adapter):
        yield from _untold(channel, declared)
    else:
        yield from _asked(channel, declared, verification_of(way))
    yield from _schedule(channel, declared)


def _untold(channel: Channel, declared: Declaration) -> Iterator[Line]:
    why = f"{channel.adapter} has no way to tell"
    yield Line("reachable", None, f"{why}; nothing was asked")
    yield Line("identity", None, why)
    yield _scopes(channel, declared, None)
    yield Line("clock", None, why)


def _asked(channel: Channel, declared: Declaration, question: Verification) -> Iterator[Line]:
    question.run()
    now = database_now()
    kept = keep(question, person_at_shell())
    said = kept.said
    answered = kept.state != "untold"
    took = f"answered in {question.took_s:.2f} s"
    yield Line("reachable", answered, took if answered else f"no use of its answer: {kept.why}")
    yield _identity(kept)
    yield _scopes(channel, declared, said.scopes)
    if said.clock is None:
        yield Line("clock", None, "its answer has no time")
    else:
        off_s = (said.clock - now).total_seconds()
        text = f"{abs(off_s):.1f} s {'ahead of' if off_s > 0 else 'behind'} the database's"
        yield Line("clock", abs(off_s) <= SKEWED_S, text)


def _identity(kept: Kept) -> Line:
    said, words = kept.said.identity, {
        "same": "as before",
        "learned": "kept from now on",
        "accepted": f"accepted; it was {kept.stored}",
    }  # fmt: skip
    if kept.state in words:
        return Line("identity", fine=True, text=f"{said}, {words[kept.state]}")
    if kept.state == "another":
        text = f"{kept.why}. What is owed is held; people may take it on the credential's page"
        return Line("identity", fine=False, text=text)
    return Line("identity", False if kept.state == "refused" else None, kept.why)


def _scopes(channel: Channel, declared: Declaration, granted: tuple[str, ...] | None) -> Line:
    required = channel.scopes_required
    missing = [] if granted is None else [one for one in required if one not in granted]
    text = (
        f"required: {_listed(required)}; declared: {_listed(declared.scopes)}; granted:"
        f" {'not told' if granted is None else _listed(granted)}"
    )
    if missing:
        text = f"missing: {_listed(missing)}; {text}"
    return Line("scopes", None if granted is None else not missing, text)


def _listed(names: Any) -> str:
    return ", ".join(names) or "none"


def _schedule(channel: Channel, declared: Declaration) -> Iterator[Line]:
    window_s = declared.window.seconds
    longest = longest_retry_s(channel.retry_schedule, channel.max_attempts)
    room = max(0.0, window_s - channel.deadline_s - channel.margin_s)
    tries = f"{channel.max_attempts} attempts take up to {longest:g} s"
    if declared.key is None or window_s <= 0:
        yield Line("window", None, f"no key protects a repetition; {tries}")
    else:
        text = f"{tries}; the key protects {room:g} s of {window_s:g} s"
        yield Line("window", longest <= room, text)
    for one in complaints(channel):
        if one.id != "delivery.E014":
            yield Line(one.field, False if one.fatal else None, f"{one.text}. {one.hint}")
