"""`manage.py decide`: ask for a decision, approve, refuse or undo one, and list what waits."""

import argparse
import sys
from collections.abc import Callable
from datetime import datetime
from getpass import getpass
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser

from delivery.errors import InvalidInputError
from ledgers.canonical import Json
from ledgers.clock import database_now
from ledgers.finding import find_delivery
from ledgers.management.command import Answer, LedgerCommand, MisuseError, person_at_shell
from ledgers.management.words import moment, pairs, section, table
from reviews import decisions
from reviews.kinds import Kind, Stage
from reviews.people import Person, person_of
from reviews.records import Decision
from reviews.wishes import Wish

LISTED = 50


class Command(LedgerCommand):
    help = (
        "Decide about deliveries, as the console does: by the same gates, with the same trail.\n"
        "What may make a second message takes two people with accounts; a shell is nobody's."
    )
    lesson = """
        request KIND DELIVERY...   ask; carried out at once where one person may decide. KIND:
          arrived            it arrived              (--reason --note --link)
          send_same_key      send again, same key    (--reason)
          send_after_absent  send again, a complete search found nothing  (--reason)
          send_otherwise     send again, although it may have arrived; two people
                             (--reason --note --typed DESTINATION, or how many)
          release            after a restore: it was not sent in the time that was lost; two
                             people (--reason --note --typed DESTINATION, or how many)
          try_again          failed or expired: known not to have been sent  (--reason)
          leave, discard     leave undelivered; discard expired  (--reason)
          look_again         search the destination at --at
          cancel             withdraw  (--reason)
          approve_try, refuse_try   tries on channels under approval; --as  (--reason)
        approve NUMBER --as USER   the second person; asks for the password
        refuse NUMBER --reason …   refuse it, or take your own request back
        undo NUMBER                while nothing has left because of it
        list                       what waits, and what may still be undone

        Exit codes: 0 carried out, or nothing waits · 1 refused, skipped in part, or it waits
                    2 used wrongly, or no such delivery or decision

        Examples:
          manage.py decide request leave 5f3a9c21 --reason "they have it from the phone"
          manage.py decide request arrived 5f3a9c21 --reason R --note "seen" --link TICKET-7
          manage.py decide approve 17 --as bob --answer "I called them"
          manage.py decide list --json
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        for name, add in _ACTIONS.items():
            one = actions.add_parser(name, help=_HELP[name])
            one.add_argument("--json", action="store_true", default=argparse.SUPPRESS)
            one.add_argument("--as", dest="user", help="whose account; asks for the password")
            add(one)

    def answer(self, options: dict[str, Any]) -> Answer:
        if options["action"] == "list":
            return _list()
        person = _person(options["user"])
        made = _DOING[options["action"]](person, options)
        return Answer(_as_json(made), _told(made), finding=_is_finding(made))


def _add_request(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=Kind.values, metavar="KIND", help="see the help of decide")
    parser.add_argument("deliveries", nargs="+", metavar="DELIVERY", help="as for show_delivery")
    parser.add_argument("--reason", default="", help="why; kept in the trail")
    parser.add_argument("--ticket", default="", help="where it is discussed")
    parser.add_argument("--note", default="", help="what you saw yourself")
    parser.add_argument("--link", default="", help="where it can be seen")
    parser.add_argument("--at", help="when to look again, in ISO 8601 with zone")
    parser.add_argument("--typed", default="", help="the destination, or how many there are")


def _add_approve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", type=int, help="the decision's number")
    parser.add_argument("--answer", default="", help="why; kept in the trail")
    parser.add_argument("--typed", default="", help="what it is about, where you decide alone")


def _add_refuse(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", type=int, help="the decision's number")
    parser.add_argument("--reason", default="", help="why; kept in the trail")


def _add_undo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", type=int, help="the decision's number")


def _add_nothing(parser: argparse.ArgumentParser) -> None:
    del parser


_ACTIONS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "request": _add_request,
    "approve": _add_approve,
    "refuse": _add_refuse,
    "undo": _add_undo,
    "list": _add_nothing,
}
_HELP = {
    "request": "ask for a decision about deliveries",
    "approve": "approve what another person asked for",
    "refuse": "refuse it, or take your own request back",
    "undo": "take a decision back while nothing has left",
    "list": "what waits for approval, and what may still be undone",
}


def _person(name: str | None) -> Person:
    """Who decides: whoever types, or the account that they prove to be theirs."""
    if name is None:
        return Person(person_at_shell())
    user = User.objects.filter(username=name, is_active=True).first()
    password = getpass(f"Password of {name}: ") if sys.stdin.isatty() else sys.stdin.readline()
    # The same words for both: who guesses names learns nothing.
    if user is None or not user.check_password(password.rstrip("\n")):
        raise MisuseError(f"--as: no active account {name!r} with this password.", "user")
    return person_of(user)


def _request(person: Person, options: dict[str, Any]) -> Decision:
    rows = [find_delivery(text) for text in options["deliveries"]]
    wish = Wish(
        Kind(options["kind"]),
        look_at=_moment(options["at"]),
        **{name: options[name] for name in ("reason", "ticket", "note", "link", "typed")},
    )
    return decisions.decide(person, wish, {row.pk: row for row in rows}.values())


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        right = "a moment with its zone in ISO 8601, such as 2026-12-01T08:00:00+00:00"
        raise InvalidInputError("at", f"is {text!r}", right)
    return at


def _approve(person: Person, options: dict[str, Any]) -> Decision:
    return decisions.approve(person, options["number"], options["answer"], options["typed"])


def _refuse(person: Person, options: dict[str, Any]) -> Decision:
    return decisions.refuse(person, options["number"], options["reason"])


def _undo(person: Person, options: dict[str, Any]) -> Decision:
    return decisions.undo(person, options["number"])


_DOING: dict[str, Callable[[Person, dict[str, Any]], Decision]] = {
    "request": _request,
    "approve": _approve,
    "refuse": _refuse,
    "undo": _undo,
}


def _is_finding(made: Decision) -> bool:
    """Whether a script should look: it waits, or not all of it came to what was wanted."""
    if made.stage == Stage.REQUESTED:
        return True
    return made.rows.filter(result__in=["skipped", "late"]).exists()


def _as_json(made: Decision) -> dict[str, Json]:
    rows = made.rows.select_related("delivery", "made")
    return {
        "decision": made.pk,
        "kind": made.kind,
        "stage": made.stage,
        "takes": made.get_gate_display(),
        "reason": made.reason,
        "requested_by": made.requested_by,
        "approved_by": made.approved_by,
        "expires_at": made.expires_at if made.stage == Stage.REQUESTED else None,
        "undo_until": made.undo_until,
        "deliveries": [
            {
                "delivery_id": str(row.delivery.delivery_id),
                "destination": row.delivery.destination,
                "status": row.delivery.status,
                "result": row.result,
                "why": row.why,
                "made": str(row.made.delivery_id) if row.made else "",
            }
            for row in rows
        ],
    }


def _told(made: Decision) -> str:
    rows = made.rows.select_related("delivery")
    waits = "waits" if made.stage == Stage.REQUESTED else ""
    listed = table(
        ("delivery", "destination", "status", "result", "why"),
        [
            (str(r.delivery.delivery_id)[:13], r.delivery.destination, r.delivery.status,
             r.result or waits, r.why)
            for r in rows
        ],
    )  # fmt: skip
    head = pairs(
        [
            ("decision", f"{made.pk}: {made.get_kind_display()}"),
            ("state", made.get_stage_display()),
            ("expires", moment(made.expires_at) if made.stage == Stage.REQUESTED else ""),
            ("may be undone until", moment(made.undo_until)),
        ]
    )
    return "\n".join(filter(None, (head, section("Deliveries", listed))))


def _list() -> Answer:
    now = database_now()
    waiting = Decision.objects.filter(stage=Stage.REQUESTED, expires_at__gt=now)[:LISTED]
    undoable = Decision.objects.filter(stage=Stage.EXECUTED, undo_until__gt=now)[:LISTED]
    value = {
        "waiting": [_as_json(one) for one in waiting],
        "undoable": [_as_json(one) for one in undoable],
    }
    text = "\n".join(filter(None, map(_line_of, (*waiting, *undoable))))
    return Answer(value, text or "nothing waits", finding=bool(value["waiting"]))


def _line_of(one: Decision) -> str:
    count, until = one.rows.count(), one.undo_until or one.expires_at
    rows = "1 delivery" if count == 1 else f"{count} deliveries"
    word = "may be undone" if one.stage == Stage.EXECUTED else "waits"
    return (
        f"{one.pk}  {one.get_kind_display()}, {rows}, by {one.requested_by}:"
        f" {word} until {moment(until)}"
    )
