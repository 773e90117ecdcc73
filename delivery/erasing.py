"""Erasing contents on request: the words go, their hashes and what happened stay.

Of a run: the contents of its messages, the results of its steps, what providers answered and
reported. Of a delivery: the content of its message (which the others of its roster share), and its
own answers and reports. Destinations are part of identities and stay until a purge.
"""

from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from delivery.models import Receipt
from delivery.retention import checked_reason
from ledgers.errors import LedgerError, NotFoundError
from ledgers.finding import find_delivery, purged_run
from ledgers.models import Delivery, Message, Run, Step
from ledgers.states import OPEN


class StillNeededError(LedgerError):
    """Something of it is open: its contents are needed. Nothing was erased."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a request is about. `what`: in words, for people."""

    what: str
    messages: tuple[int, ...]
    steps: tuple[int, ...]
    deliveries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Erased:
    """How much was erased, or would be."""

    contents: int
    results: int
    answers: int
    reports: int


def of_run(run_id: str) -> Scope:
    """Everything of a run.

    Raises:
        NotFoundError: there is no run of this name.
        StillNeededError: it is not over.
    """
    run = Run.objects.filter(run_id=run_id).first()
    if run is None:
        raise NotFoundError(purged_run(run_id) or f"run_id: there is no run {run_id!r}.")
    if run.finished_at is None:
        raise StillNeededError(f"run {run_id!r} is {run.status}: erase once it has ended.")
    rows = Delivery.objects.filter(message__step__run=run)
    return _checked(
        f"run {run_id}",
        rows,
        Message.objects.filter(step__run=run),
        Step.objects.filter(run=run, status="completed"),
    )


def of_delivery(text: str) -> Scope:
    """What was sent to one destination, and what came back.

    Args:
        text: as `find_delivery` takes it.

    Raises:
        NotFoundError: it names none, or several.
        StillNeededError: it, or another one of the same message, is open.
    """
    row = find_delivery(text)
    rows = Delivery.objects.filter(message=row.message_id)
    checked = _checked(
        f"delivery {row.delivery_id}",
        rows,
        Message.objects.filter(pk=row.message_id),
        Step.objects.none(),
    )
    return Scope(checked.what, checked.messages, (), (row.pk,))


def _checked(what: str, rows: Any, messages: Any, steps: Any) -> Scope:
    if held := rows.filter(status__in=OPEN).first():
        raise StillNeededError(
            f"{what}: delivery {held.delivery_id} is {held.status}, so the content is needed."
            " Erase once it has come to rest: cancel it, or decide."
        )
    return Scope(
        what, *(tuple(some.values_list("pk", flat=True)) for some in (messages, steps, rows))
    )


def would_erase(scope: Scope) -> Erased:
    """What is there to be erased."""
    with connection.cursor() as cursor:
        cursor.execute(_ANSWERS, [list(scope.deliveries)] * 2)
        answers = cursor.fetchone()[0]
    return Erased(
        Message.objects.filter(pk__in=scope.messages, payload__isnull=False).count(),
        Step.objects.filter(pk__in=scope.steps, result__isnull=False).count(),
        answers,
        _reports(scope).count(),
    )


_ANSWERS = """
SELECT (SELECT count(*) FROM ledgers_attempt WHERE delivery_id = ANY(%s)
        AND closed_at IS NOT NULL AND response <> ledgers_erased(response))
     + (SELECT count(*) FROM ledgers_evidence WHERE delivery_id = ANY(%s)
        AND response <> ledgers_erased(response))"""


def _reports(scope: Scope) -> Any:
    return Receipt.objects.filter(delivery__in=scope.deliveries).exclude(raw="")


def erase(scope: Scope, actor: str, reason: str) -> Erased:
    """Erase it, all or nothing; each part writes its event.

    Raises:
        InvalidValueError: there is no reason.
    """
    words = checked_reason(reason)
    with transaction.atomic():
        contents = _each("ledgers_erase_payload", scope.messages, actor, words)
        results = _each("ledgers_erase_result", scope.steps, actor, words)
        answers = _each("ledgers_erase_answers", scope.deliveries, actor, words)
        reports = _reports(scope).update(raw="")
    return Erased(contents, results, answers, reports)


def _each(function: str, ids: tuple[int, ...], actor: str, reason: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT COALESCE(sum({function}(id, %s, %s)::int), 0)"  # noqa: S608  one of three
            " FROM unnest(%s::bigint[]) AS id",
            [actor, reason, list(ids)],
        )
        return int(cursor.fetchone()[0])
