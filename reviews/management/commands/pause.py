"""`manage.py pause`: nothing new goes out through one channel."""

from typing import Any

from django.core.management.base import CommandParser

from delivery import switches
from ledgers.management.command import Answer
from ledgers.models import OutboxItem
from reviews.foresight import COUNTED
from reviews.management.switching import SwitchCommand, Turn, find_channel


class Command(SwitchCommand):
    name = "pause"
    help = (
        "Send nothing new through a channel until it is resumed. Running workers follow within\n"
        "seconds; what is owed waits. The same switch as on the channel's page."
    )
    lesson = """
        Exit codes: 0 paused · 1 refused: it is paused already · 2 used wrongly, or no such channel

        Example:
          manage.py pause alerts --reason "the number is being ported"
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("channel", help="its slug")

    def turn(self, turn: Turn, options: dict[str, Any]) -> Answer:
        channel = find_channel(options["channel"])
        switches.pause(channel, turn.reason, turn.who)
        owed = OutboxItem.objects.filter(channel=channel)[:COUNTED].count()
        said = f"The channel {channel} is paused. {owed} owed wait."
        return self.done(said, channel=channel.slug, owed=owed)
