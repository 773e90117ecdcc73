"""`manage.py hold`: nothing goes out at all."""

from typing import Any

from django.core.management.base import CommandParser

from delivery import lifting, switches
from ledgers.management.command import Answer
from ledgers.models import OutboxItem
from reviews.foresight import COUNTED
from reviews.management.switching import SwitchCommand, Turn


class Command(SwitchCommand):
    name = "hold"
    help = (
        "Send nothing at all until it is released. Running workers stop within five seconds; what\n"
        "is on the wire by then cannot be called back. The same switch as on the channels' page."
    )
    lesson = """
        Exit codes: 0 held · 1 refused: everything is held already · 2 used wrongly

        Examples:
          manage.py hold --reason "the agent went wild"
          manage.py hold --reason "the machine was turned back" --restored
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--restored",
            action="store_true",
            help="the database was put back: all that is open in it counts as possibly sent",
        )

    def turn(self, turn: Turn, options: dict[str, Any]) -> Answer:
        if options["restored"]:
            lifting.declare_restored(turn.reason, turn.who)
            return self.done("Everything is held as after a restore. Workers rewind what is open.")
        switches.hold(turn.reason, turn.who)
        owed = OutboxItem.objects.all()[:COUNTED].count()
        said = f"Everything is held. {owed} owed wait. Running workers stop within five seconds."
        return self.done(said, owed=owed)
