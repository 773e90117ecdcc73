"""`manage.py release`: the hold of everything ends, whatever it was for."""

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from delivery import lifting, switches
from delivery.errors import SwitchError
from ledgers.canonical import Json
from ledgers.management.command import Answer, MisuseError
from ledgers.management.words import moment, pairs, section, table
from ledgers.models import Channel
from reviews.foresight import Foresight, foresee
from reviews.management.switching import LiftingCommand, Turn, as_json, told
from reviews.restored import Standing, standing

UNSURE = (
    "Nobody can tell whether this database was restored, or is a copy. If it is the one it always"
    " was, and no copy of it runs: --same-database. If it was restored: --was-restored, which sends"
    " nothing and reckons with every send that may be forgotten. docs/restore.md says how to tell."
)
RESTORED = (
    "--after-restore lets work go on. What is listed as open stays unknown and is not sent, unless"
    " its key still protects it; decide about it in groups (docs/restore.md)."
)


class Command(LiftingCommand):
    name = "release"
    help = (
        "End the hold of everything; paused channels stay paused. What that would send, and what\n"
        "has expired meanwhile, is shown first; at a terminal you are asked. A hold that is there\n"
        "because of where the database comes from takes an answer to that as well."
    )
    lesson = """
        Exit codes: 0 released · 1 refused, or not confirmed: nothing was changed · 2 used wrongly

        Examples:
          manage.py release --reason "it is tame again"          # shows, and asks
          manage.py release --reason "it is tame again" --yes
          manage.py release --reason "the host is new" --same-database --yes
          manage.py release --reason "dump of Monday" --was-restored --yes
          manage.py release --reason "old workers are off" --after-restore --yes
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        answers = parser.add_mutually_exclusive_group()
        answers.add_argument(
            "--same-database", action="store_true", help="nothing was restored, and no copy runs"
        )
        answers.add_argument(
            "--was-restored", action="store_true", help="it was: rewind everything, and stay held"
        )
        answers.add_argument(
            "--after-restore", action="store_true", help="go on; what is in doubt stays unknown"
        )
        parser.add_argument(
            "--doubt-until",
            metavar="MOMENT",
            help="with --after-restore: what runs record that begin until then (ISO 8601, with its"
            " zone) may have been sent before, too",
        )

    def turn(self, turn: Turn, options: dict[str, Any]) -> Answer:
        now = standing()
        if options["was_restored"]:
            return self._declare(turn)
        if not now.kind:
            raise SwitchError("Nothing is held. There is nothing to release.")
        wanted = {"restored": "after_restore", "unsure": "same_database", "held": ""}[now.kind]
        for answer in ("after_restore", "same_database"):
            if options[answer] and answer != wanted:
                raise SwitchError(f"That is no answer to why it is held: {now.reason}.")
        if wanted and not options[wanted]:
            return _explained(now)
        seen = foresee(list(Channel.objects.values_list("pk", flat=True)), switches.HELD)
        if not self.confirmed(turn, seen, "Release everything now?"):
            return self.unconfirmed(seen)
        _lift(now, turn, _moment(options["doubt_until"]))
        said = f"{told(seen)}\n\nNothing is held any more. Paused channels stay paused."
        return self.done(said, **as_json(seen))

    def _declare(self, turn: Turn) -> Answer:
        """Sends nothing, and forgets what people let go on: who means it says so."""
        seen = Foresight(0, 0, (), ())
        question = "Hold everything, and take all that is open for possibly sent?"
        if not self.confirmed(turn, seen, question):
            return self.unconfirmed(seen)
        lifting.declare_restored(turn.reason, turn.who)
        return self.done("Everything is held as after a restore. Workers rewind what is open.")


def _lift(now: Standing, turn: Turn, doubt_until: datetime | None) -> None:
    if now.kind == "restored":
        lifting.lift(now.held_at, turn.reason, turn.who, doubt_until=doubt_until)
    elif now.kind == "unsure":
        lifting.confirm(now.held_at, turn.reason, turn.who)
    else:
        switches.release(now.held_at, turn.reason, turn.who)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        right = "a moment with its zone in ISO 8601, such as 2026-12-01T08:00:00+00:00"
        raise MisuseError(f"--doubt-until: is {text!r}. Right would be: {right}.", "doubt_until")
    return at


def _explained(now: Standing) -> Answer:
    """Why it is held, what is in doubt, and what would end it."""
    head = pairs(
        [
            ("held since", moment(now.held_at)),
            ("because", now.reason),
            ("restore noticed", moment(now.restored_at)),
            ("restore point", moment(now.restore_point)),
            ("reckoning", "workers are still at it" if now.rewinding else ""),
        ]
    )
    rows = [(group.words, group.count, group.open) for group in now.groups]
    groups = section("In doubt", table(("group", "deliveries", "open"), rows)) if rows else ""
    said = RESTORED if now.kind == "restored" else UNSURE
    text = "\n".join(filter(None, (head, groups, "", f"Nothing was changed. {said}")))
    value: dict[str, Json] = {
        "switch": "release",
        "changed": False,
        "held": now.kind,
        "reason": now.reason,
        "restore_point": str(now.restore_point) if now.restore_point else None,
        "rewinding": now.rewinding,
        "groups": [{"group": one.name, "count": one.count, "open": one.open} for one in now.groups],
    }
    return Answer(value, text, finding=True)
