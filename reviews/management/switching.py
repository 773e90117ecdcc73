"""What the four switches share at a shell: a reason, a look ahead, and a refusal in the trail.

They call the functions behind the console's own buttons (`delivery.switches`), and what lifting a
pause or a hold would send is worked out as on the pages.
"""

import sys
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError, CommandParser

from delivery.errors import SwitchError
from delivery.switches import reason_of
from ledgers.canonical import Json
from ledgers.errors import NotFoundError
from ledgers.management.command import (
    FINDING,
    Answer,
    LedgerCommand,
    MisuseError,
    person_at_shell,
)
from ledgers.management.words import plain, section, table
from ledgers.models import Channel
from ledgers.trail import log
from reviews.foresight import Foresight


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a switch: who, why, and whether it is confirmed beforehand."""

    who: str
    reason: str
    confirmed: bool
    as_json: bool


class SwitchCommand(LedgerCommand):
    """A switch. Subclasses give its name, as refusals in the trail have it, and turn it."""

    name: str

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--reason", required=True, help="why; kept in the trail")

    def answer(self, options: dict[str, Any]) -> Answer:
        who = person_at_shell()
        try:
            reason = reason_of(options["reason"])
        except SwitchError as error:
            raise MisuseError(f"--reason: {error}", "reason") from error
        turn = Turn(who, reason, options.get("yes", False), options["json"])
        try:
            return self.turn(turn, options)
        except SwitchError as error:
            log("refuse", who, detail={"page": self.name, "why": str(error)})
            raise CommandError(str(error), returncode=FINDING) from error

    @abstractmethod
    def turn(self, turn: Turn, options: dict[str, Any]) -> Answer:
        """Turn it.

        Raises:
            SwitchError: it stands otherwise.
        """

    def done(self, said: str, **more: Json) -> Answer:
        """It is turned."""
        return Answer({"switch": self.name, "changed": True, **more}, said)


class LiftingCommand(SwitchCommand):
    """A switch that lets things go: what they would be is shown first, and confirmed."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--yes", action="store_true", help="do not ask whether to go on")

    def confirmed(self, turn: Turn, seen: Foresight, question: str) -> bool:
        """Whether to go on, by `--yes` or by whoever sits at the terminal."""
        if turn.confirmed:
            return True
        if turn.as_json or not sys.stdin.isatty():
            return False
        self.stdout.write(told(seen))
        return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}

    def unconfirmed(self, seen: Foresight, **more: Json) -> Answer:
        """What it would do; a script that wants it says so."""
        text = f"{told(seen)}\n\nNothing was changed: it was not confirmed. --yes does it."
        value = {"switch": self.name, "changed": False, **more, **as_json(seen)}
        return Answer(value, text, finding=True)


def find_channel(slug: str) -> Channel:
    """The channel of this name.

    Raises:
        NotFoundError: there is none; the message names those there are.
    """
    found = Channel.objects.filter(slug=slug).first() if slug.isprintable() else None
    if found is None:
        known = ", ".join(Channel.objects.values_list("slug", flat=True)[:20]) or "none yet"
        raise NotFoundError(f"channel: there is no {plain(slug[:60])!r}. There are: {known}.")
    return found


def told(seen: Foresight) -> str:
    """What becomes of what waits, as text."""
    if not seen.waiting:
        return "Nothing waits."
    head = f"{seen.waiting_shown} wait; of the {seen.looked_at} that are due first:"
    courses = "\n".join(f"  {count} {course}" for course, count in seen.courses)
    first = table(
        ("destination", "status", "then"),
        [(one.destination, one.status, one.course) for one in seen.first],
    )
    return f"{head}\n{courses}\n{section('The first of them', first)}"


def as_json(seen: Foresight) -> dict[str, Json]:
    """What becomes of what waits, for programs."""
    return {
        "waiting": seen.waiting,
        "looked_at": seen.looked_at,
        "courses": dict(seen.courses),
    }
