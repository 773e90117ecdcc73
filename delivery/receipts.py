"""What a provider reports by itself, later: kept, told whose it is, and counted as evidence.

A report is kept first and matched after that commit; an answer that is settled looks for reports
after its own commit. So whichever is second sees the other, and neither is lost. Each proves that
the provider accepted: a bounce is a fact about what came of it, and never a reason to send again.
"""

import hashlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError, connection, transaction

from delivery import hooks
from delivery.channels import contract
from delivery.channels.contract import Posted
from delivery.channels.redacting import without_secrets
from delivery.channels.registry import adapter_for
from delivery.decide import carry_out, decide
from delivery.errors import BadReceiptError, ForgedReceiptError, SecretError
from delivery.history import Case, read
from delivery.models import Receipt
from delivery.vetting import YEARS
from delivery.ways import Ways
from ledgers import evidence, moves, outbox
from ledgers.canonical import storable
from ledgers.clock import database_now
from ledgers.evidence import Sighting
from ledgers.models import Attempt, Channel, Delivery
from ledgers.states import DeliveryStatus
from ledgers.trail import log

logger = logging.getLogger(__name__)

MAX_RAW = 4096  # characters of a report that are kept
MAX_ID, MAX_SAID, MAX_REF = 300, 300, 40


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one post. `new`: reports that were not known yet."""

    new: int
    repeated: int
    matched: int


def take(channel: Channel, posted: Posted) -> Taken:
    """Verify, keep and match what somebody posted.

    Raises:
        ForgedReceiptError: it is not proven to come from the provider; nothing was believed.
        BadReceiptError: it cannot be read, or the channel takes no reports.
    """
    try:
        reports = adapter_for(channel).classify_receipt(posted)
    except BadReceiptError as error:
        _refuse(channel, "forged" if isinstance(error, ForgedReceiptError) else "unreadable", error)
        raise
    except SecretError as error:  # it names the reference, so that an operator can mend it
        _refuse(channel, "unverified", error)
        raise BadReceiptError("it cannot be verified now") from None
    except Exception as error:  # noqa: BLE001  a stranger wrote it: whatever it makes of a reader
        _refuse(channel, "unreadable", error)
        raise BadReceiptError("it cannot be read") from None
    new, waiting = _keep(channel, reports, posted)
    if repeated := len(reports) - new:
        tally(channel, "repeated")
    matched = sum(match(one, wait=True) for one in waiting)
    if matched:  # what names the message by our mark may tell the provider's name of it
        match_answers(((channel.pk, one.provider_message_id) for one in reports), wait=True)
    return Taken(new, repeated, matched)


def _refuse(channel: Channel, reason: str, error: Exception) -> None:
    told = isinstance(error, BadReceiptError | SecretError)
    why = str(error) if told else type(error).__name__
    logger.warning("a report for channel %s was not taken (%s): %s", channel.slug, reason, why)
    tally(channel, reason, why)


def tally(channel: Channel, reason: str, why: str = "") -> None:
    """Count a report that changed nothing."""
    with connection.cursor() as cursor:
        cursor.execute(_TALLY, [channel.pk, reason, storable(why)[:MAX_SAID]])


_TALLY = """
INSERT INTO delivery_receipttally AS t (channel_id, reason, count, last_at, why)
VALUES (%s, %s, 1, clock_timestamp(), %s)
ON CONFLICT (channel_id, reason) DO UPDATE
SET count = t.count + 1, last_at = clock_timestamp(), why = EXCLUDED.why"""


def _keep(
    channel: Channel, reports: Sequence[contract.Receipt], posted: Posted
) -> tuple[int, list[int]]:
    """Store what is new, in a commit of its own: how many were, and which of them all wait.

    One that is repeated may wait, too: its first taker was killed before it was matched.
    """
    raw, new = _raw(channel, posted), 0
    rows = [_columns(one, posted) for one in reports]
    with connection.cursor() as cursor:
        for row in rows:
            cursor.execute(_KEEP, [channel.pk, *row, raw])
            new += len(cursor.fetchall())
    named = Receipt.objects.filter(channel=channel, receipt_id__in=[row[0] for row in rows])
    return new, list(named.filter(delivery=None).order_by("pk").values_list("pk", flat=True))


def _raw(channel: Channel, posted: Posted) -> str:
    text = storable(posted.body[: 4 * MAX_RAW].decode("utf-8", "replace"))
    try:
        hidden = adapter_for(channel).secret()
    except Exception:  # noqa: BLE001  without one there is none to hide
        hidden = ""
    return (without_secrets(text, hidden) if hidden else text)[:MAX_RAW]


def _columns(one: contract.Receipt, posted: Posted) -> tuple[str | datetime | None, ...]:
    named = storable(one.receipt_id) or hashlib.sha256(posted.body).hexdigest()
    if len(named) > MAX_ID:  # half a name would be another one
        named = hashlib.sha256(named.encode()).hexdigest()
    return (
        named,
        one.kind,
        storable(one.provider_message_id)[:MAX_ID],
        storable(one.recognizer)[:MAX_REF],
        one.at if one.at and one.at.tzinfo and one.at.year in YEARS else None,
        storable(one.said)[:MAX_SAID],
    )


_KEEP = """
INSERT INTO delivery_receipt (channel_id, receipt_id, kind, provider_message_id, recognizer,
    happened_at, said, raw, received_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, clock_timestamp())
ON CONFLICT (channel_id, receipt_id) DO NOTHING RETURNING id"""


def match_answers(answers: Iterable[tuple[int, str]], *, wait: bool = False) -> None:
    """Whoever learns a provider's names: match what was reported under them before.

    Never raises: a report that is not matched now is matched when the provider repeats it.

    Args:
        answers: channel id and the provider's name of the message, as the answer told it.
        wait: see `match`.
    """
    wanted = sorted({one for one in answers if one[1]})
    if not wanted:
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute(_REPORTED, [[c for c, _ in wanted], [name for _, name in wanted]])
            ids = [row_id for (row_id,) in cursor.fetchall()]
    except DatabaseError as error:
        logger.warning("whether answers were reported already cannot be read now: %s", error)
        return
    for row_id in ids:
        match(row_id, wait=wait)


def match_waiting() -> bool:
    """A worker that begins: match what one that was killed had no time to match.

    Returns:
        True; it never raises.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute(_WAITING)
            ids = [row_id for (row_id,) in cursor.fetchall()]
    except DatabaseError as error:
        logger.warning("which reports wait cannot be read now: %s", error)
        ids = []
    for row_id in ids:
        match(row_id, wait=False)
    return True


# Most that wait for long are about mail that somebody else sends through the same account.
_WAITING = """
SELECT r.id FROM delivery_receipt r
WHERE r.delivery_id IS NULL AND r.provider_message_id <> ''
    AND r.received_at > clock_timestamp() - interval '1 day'
    AND EXISTS (
        SELECT 1 FROM ledgers_delivery d JOIN ledgers_message m ON m.id = d.message_id
        WHERE d.provider_message_id = r.provider_message_id AND d.provider_message_id <> ''
            AND m.channel_id = r.channel_id)
ORDER BY r.id LIMIT 1000"""

_REPORTED = """
SELECT r.id FROM delivery_receipt r
JOIN unnest(%s::bigint[], %s::text[]) AS w(channel_id, name)
    ON w.channel_id = r.channel_id AND w.name = r.provider_message_id
WHERE r.delivery_id IS NULL ORDER BY r.id"""


def match(row_id: int, *, wait: bool) -> bool:
    """Find the delivery that a kept report is about, and count it as evidence; one transaction.

    Args:
        row_id: which report.
        wait: for whoever holds the delivery. A worker does not: who holds it matches it.

    Returns:
        whether it was matched now. Never raises; what cannot be matched now waits.
    """
    try:
        with transaction.atomic():
            found = _match(row_id, wait=wait)
    except DatabaseError:
        logger.exception("report %d cannot be matched now; it is kept", row_id)
        return False
    if found:
        hooks.tell(found)
    return found is not None


def _match(row_id: int, *, wait: bool) -> list[Case] | None:
    rows = Receipt.objects.select_for_update(skip_locked=True, of=("self",))
    row = rows.filter(pk=row_id, delivery=None).select_related("channel").first()
    delivery = _delivery_of(row) if row else None
    if row is None or delivery is None:
        return None
    if not moves.hold([delivery.pk], skip_locked=not wait):
        return None
    row.delivery = delivery
    row.save(update_fields=["delivery"])
    evidence.add_sightings([_sighting(row, delivery)])
    detail = {"kind": row.kind, "receipt": row.receipt_id, "said": row.said}
    log("receipt", _actor(row), delivery_pk=delivery.pk, detail=detail)
    decided = [decide(case) for case in read([delivery.pk], Ways())]
    done = carry_out(decided, _actor(row), leased=False)
    found = [
        one.case
        for one in decided
        if one.move.status == DeliveryStatus.DELIVERED and one.case.id in done
    ]
    outbox.wake_next_parts(case.id for case in found)
    outbox.wake_generations(case.id for case in found if case.has_generations)
    return found


def _delivery_of(row: Receipt) -> Delivery | None:
    """By our own mark, or by the provider's name of it as any answer told that."""
    mine = Delivery.objects.filter(message__channel=row.channel)
    if row.recognizer and (found := mine.filter(recognizer=row.recognizer).first()):
        return found
    name = row.provider_message_id
    if not name:
        return None
    if found := mine.filter(provider_message_id=name).first():
        return found
    answered = Attempt.objects.filter(
        provider_message_id=name, delivery__message__channel=row.channel,
        delivery__in=mine.filter(attempts__provider_message_id=name),
    ).select_related("delivery").first()  # fmt: skip
    return answered.delivery if answered else None


def _sighting(row: Receipt, delivery: Delivery) -> Sighting:
    known, named = delivery.provider_message_id, row.provider_message_id
    # One identity under two names of the provider: it accepted twice.
    twice = bool(known and named and known != named)
    return Sighting(
        delivery_id=delivery.pk,
        taken_at=database_now(),
        method="receipt",
        verdict="found_many" if twice else "found",
        searched=f"report {row.receipt_id}",
        why=f"{row.kind}: {row.said}" + (f"; and it is also {known}" if twice else ""),
        covered_from=None,
        pages=0,
        provider_message_id=named,
        response=row.raw,
        seen_by=_actor(row),
    )


def _actor(row: Receipt) -> str:
    return f"receipts:{row.channel.slug}"
