"""Record: a step's result, its messages, every delivery and what a machine owes, all or nothing.

Inside one transaction, on top of what `roster` has checked. What is there already stays: a roster
or content that differs the second time is written to the trail as drift and changes nothing.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from django.db import connection, transaction

from delivery import canary, restoring
from delivery.channels.contract import Envelope, Rendered
from delivery.errors import InvalidInputError
from delivery.next_move import PART_RECHECK_S
from delivery.roster import Message, Prepared, prepare
from delivery.tasks import hint
from ledgers import execution, outbox
from ledgers.boundaries import boundary
from ledgers.canonical import Json, sha256
from ledgers.errors import LostWriteError
from ledgers.execution import Lease
from ledgers.identity import Place, delivery_id, idempotency_key, recognizer
from ledgers.models import Delivery, Installation, Step
from ledgers.models import Message as MessageRow
from ledgers.trail import log

CHUNK = 1000  # deliveries per statement: memory stays flat however long the roster is
DRIFT_SHOWN = 20  # destinations named in a drift event, to either side


def complete_and_record(
    lease: Lease,
    result: Json,
    messages: Sequence[Message] = (),
    *,
    result_ref: str = "",
    announces: Sequence[str] = (),
) -> Json:
    """Complete a step and record the messages it owes, in one transaction.

    Args:
        lease: what `execution.start_step` gave.
        result: the step's result.
        messages: what it owes to the outside world.
        result_ref: where a large result is kept.
        announces: names of messages that will be recorded later.

    Returns:
        the result that counts: the first committed one.

    Raises:
        ledgers.errors.InvalidValueError: something cannot be recorded; nothing was written.
        ledgers.errors.LeaseLostError: another process has the step.
    """
    prepared = prepare(messages)
    with transaction.atomic():
        completion = execution.complete_step(
            lease, result, result_ref=result_ref, announces=announces
        )
        boundary("result-stored")
        _record(lease.step_pk, prepared, again=not completion.first)
        boundary("before-commit")
    boundary("recorded")
    return completion.result


def record_messages(step_pk: int, messages: Sequence[Message]) -> None:
    """Record messages that a completed step announced.

    Raises:
        ledgers.errors.InvalidValueError: as for `complete_and_record`, or the step did not
            announce a message of this name.
    """
    prepared = prepare(messages)
    announced = Step.objects.get(pk=step_pk).announces
    for index, message in enumerate(prepared):
        if message.name not in announced:
            raise InvalidInputError(
                f"messages[{index}].name",
                f"the step did not announce {message.name!r} when it completed",
                "one of: " + (", ".join(announced) or "nothing; it announced no message"),
            )
    with transaction.atomic():
        _record(step_pk, prepared, again=True)


def _record(step_pk: int, prepared: Sequence[Prepared], *, again: bool) -> None:
    """Insert what is new, note what differs. `again`: the step was completed before this call."""
    if not prepared:
        return
    restoring.share_recording()
    # The step's row serialises two recorders of the same step.
    step = Step.objects.select_for_update(of=("self",)).select_related("run").get(pk=step_pk)
    installation = Installation.objects.get()
    for message in prepared:
        existing = MessageRow.objects.filter(
            step=step, name=message.name, channel=message.channel
        ).first()
        if existing is not None:
            _note_drift(existing, step, message)
        elif again and message.name not in step.announces:
            # What a completed step owes was fixed when it completed.
            log("message_drift", "agent", step=step, detail={"not_added": message.name})
        else:
            row = _insert(step, message, installation)
            if restoring.in_doubt(installation, step.run):
                restoring.rewind_recorded(row.pk)
    outbox.notify()
    transaction.on_commit(hint, robust=True)
    transaction.on_commit(canary.note, robust=True)


def _insert(step: Step, message: Prepared, installation: Installation) -> MessageRow:
    row = MessageRow.objects.create(
        step=step,
        name=message.name,
        channel=message.channel,
        payload=message.payload,
        payload_hash=message.payload_hash,
        contract=message.declaration.frozen(),
        parts=len(message.parts),
        destinations=len(message.destinations),
        not_before=message.not_before,
        not_after=message.not_after,
    )
    rows = _deliveries(step, message, installation)
    with connection.cursor() as cursor:
        while chunk := list(islice(rows, CHUNK)):
            columns = [list(column) for column in zip(*chunk, strict=True)]
            cursor.execute(
                _INSERT, [row.pk, PART_RECHECK_S, *columns, message.channel.pk, step.run_id]
            )
            if cursor.rowcount != len(chunk):
                raise LostWriteError(f"{cursor.rowcount} of {len(chunk)} deliveries recorded")
    return row


def _deliveries(
    step: Step, message: Prepared, installation: Installation
) -> Iterator[tuple[Any, ...]]:
    """One tuple of columns per destination and part."""
    secret = bytes(installation.recognizer_secret)
    form = message.declaration.key
    for destination in message.destinations:
        for part in range(1, len(message.parts) + 1):
            identity = delivery_id(
                installation.namespace,
                Place(
                    step.run.run_id, step.step_id, step.version, message.name,
                    message.channel.slug, destination, part, 1,
                ),
            )  # fmt: skip
            token = recognizer(identity, secret)
            key = idempotency_key(identity, form.form if form else "uuid",
                                  form.max_length if form else 255)  # fmt: skip
            body = render(message, destination, part, token, key).body
            yield identity, destination, part, sha256(body), key, token, message.not_before


def render(message: Prepared, destination: str, part: int, token: str, key: str) -> Rendered:
    """The exact bytes that a worker will render again later."""
    content, parts = message.parts[part - 1], len(message.parts)
    return message.adapter.render(Envelope(content, destination, part, parts, token, key=key))


_INSERT = """
WITH made AS (
    INSERT INTO ledgers_delivery (delivery_id, message_id, destination, part, generation, status,
        cause, body_hash, idempotency_key, recognizer, provider_message_id, attempt_count,
        next_attempt_at, created_at, decision, fence, row_version)
    SELECT w.delivery_id, %s, w.destination, w.part, 1, 'pending', 'recorded', w.body_hash, w.key,
        w.recognizer, '', 0, COALESCE(w.not_before, clock_timestamp())
            + CASE WHEN w.part > 1 THEN make_interval(secs => %s) ELSE interval '0' END,
        clock_timestamp(), '', 0, 1
    FROM unnest(%s::uuid[], %s::text[], %s::int[], %s::text[], %s::text[], %s::text[],
                %s::timestamptz[])
        AS w(delivery_id, destination, part, body_hash, key, recognizer, not_before)
    RETURNING id, next_attempt_at, message_id
),
owed AS (
    INSERT INTO ledgers_outboxitem (delivery_id, channel_id, due_at, leased)
    SELECT id, %s, next_attempt_at, false FROM made
)
INSERT INTO ledgers_event (at, kind, run_id, delivery_id, from_status, to_status, row_version, rule,
                           inputs, actor, detail)
SELECT clock_timestamp(), 'record', %s, id, '', 'pending', 1, '', '', 'agent', '{}'::jsonb
FROM made"""


def _note_drift(row: MessageRow, step: Step, message: Prepared) -> None:
    if row.payload_hash != message.payload_hash:
        log(
            "payload_drift",
            "agent",
            step=step,
            detail={"message": row.name, "kept": row.payload_hash, "ignored": message.payload_hash},
        )
    known = set(
        Delivery.objects.filter(message=row, generation=1).values_list("destination", flat=True)
    )
    given = set(message.destinations)
    if known != given:
        log(
            "roster_drift",
            "agent",
            step=step,
            detail={
                "message": row.name,
                "not_added": sorted(given - known)[:DRIFT_SHOWN],
                "not_removed": sorted(known - given)[:DRIFT_SHOWN],
                "not_added_count": len(given - known),
                "not_removed_count": len(known - given),
            },
        )
