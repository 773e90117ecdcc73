"""`manage.py resume`: what a paused channel owes goes on."""

from typing import Any

from django.core.management.base import CommandParser

from delivery import switches
from delivery.errors import SwitchError
from ledgers.management.command import Answer
from reviews.foresight import foresee
from reviews.management.switching import LiftingCommand, Turn, as_json, find_channel, told


class Command(LiftingCommand):
    name = "resume"
    help = (
        "Let a paused channel go on. What that would send, and what has expired meanwhile, is\n"
        "shown first; at a terminal you are asked. The same switch as on the channel's page."
    )
    lesson = """
        Exit codes: 0 resumed · 1 refused, or not confirmed: nothing was changed
                    2 used wrongly, or no such channel

        Examples:
          manage.py resume alerts --reason "ported"          # shows, and asks
          manage.py resume alerts --reason "ported" --yes
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("channel", help="its slug")

    def turn(self, turn: Turn, options: dict[str, Any]) -> Answer:
        channel = find_channel(options["channel"])
        if channel.paused_at is None:
            raise SwitchError(f"{channel} is not paused. There is nothing to resume.")
        seen = foresee([channel.pk], switches.PAUSED)
        if not self.confirmed(turn, seen, f"Resume {channel} now?"):
            return self.unconfirmed(seen, channel=channel.slug)
        switches.resume(channel, channel.paused_at, turn.reason, turn.who)
        said = f"{told(seen)}\n\nThe channel {channel} is open again."
        return self.done(said, channel=channel.slug, **as_json(seen))
