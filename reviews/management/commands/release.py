"""`manage.py release`: the hold of everything ends."""

from typing import Any

from delivery import switches
from delivery.errors import SwitchError
from ledgers.management.command import Answer
from ledgers.models import Channel, Installation
from reviews.foresight import foresee
from reviews.management.switching import LiftingCommand, Turn, as_json, told


class Command(LiftingCommand):
    name = "release"
    help = (
        "End the hold of everything; paused channels stay paused. What that would send, and what\n"
        "has expired meanwhile, is shown first; at a terminal you are asked."
    )
    lesson = """
        Exit codes: 0 released · 1 refused, or not confirmed: nothing was changed · 2 used wrongly

        Examples:
          manage.py release --reason "it is tame again"          # shows, and asks
          manage.py release --reason "it is tame again" --yes
        """

    def turn(self, turn: Turn, options: dict[str, Any]) -> Answer:
        del options
        held_at = Installation.objects.values_list("held_at", flat=True).first()
        if held_at is None:
            raise SwitchError("Nothing is held. There is nothing to release.")
        seen = foresee(list(Channel.objects.values_list("pk", flat=True)), switches.HELD)
        if not self.confirmed(turn, seen, "Release everything now?"):
            return self.unconfirmed(seen)
        switches.release(held_at, turn.reason, turn.who)
        said = f"{told(seen)}\n\nNothing is held any more. Paused channels stay paused."
        return self.done(said, **as_json(seen))
