"""How the messages of a step or a run stand, in words that a program can act on."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from asgiref.sync import sync_to_async

from delivery.timing import boottime
from ledgers.canonical import Json, check_name
from ledgers.errors import LeaseLostError, NotFoundError
from ledgers.execution import Lease
from ledgers.finding import purged_run
from ledgers.models import Delivery, Run, Step
from ledgers.runs import forgotten_text
from ledgers.states import OPEN, DeliveryStatus, StepStatus

Advice = Literal["delivered", "do_not_resend", "not_sent"]

# The look grows slower while nothing changes, in seconds.
_FIRST_LOOK_S, _SLOWEST_LOOK_S = 0.01, 0.25

ADVICE: dict[DeliveryStatus, Advice] = {
    DeliveryStatus.PENDING: "do_not_resend",
    DeliveryStatus.SUBMITTING: "do_not_resend",
    DeliveryStatus.UNKNOWN: "do_not_resend",
    DeliveryStatus.DELIVERED: "delivered",
    DeliveryStatus.FAILED: "not_sent",
    DeliveryStatus.EXPIRED: "not_sent",
    DeliveryStatus.CANCELLED: "not_sent",
}


@dataclass(frozen=True, slots=True)
class DeliveryStanding:
    """One destination of one message.

    `advice`: `delivered`; `do_not_resend` (it is on its way, or it may have arrived: Counterfoil
    takes care of it); `not_sent` (provably not accepted, and nothing more is tried).
    `waits_for_person`: no machine will go on with it by itself.
    """

    delivery_id: str
    message: str
    channel: str
    destination: str
    part: int
    generation: int
    status: str
    cause: str
    advice: Advice
    waits_for_person: bool
    attempts: int
    next_attempt_at: datetime | None
    provider_message_id: str


@dataclass(frozen=True, slots=True)
class Standing:
    """All destinations of a step or run. Truth value: everything that is owed is delivered.

    `announced`: messages that completed steps still owe and nobody has recorded.
    """

    deliveries: tuple[DeliveryStanding, ...]
    announced: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        delivered = all(d.status == DeliveryStatus.DELIVERED for d in self.deliveries)
        return delivered and not self.announced

    @property
    def counts(self) -> dict[str, int]:
        """How many per status; statuses without any are left out."""
        return dict(Counter(str(d.status) for d in self.deliveries))

    def where(self, *statuses: str) -> tuple[DeliveryStanding, ...]:
        """The destinations in one of these statuses."""
        return tuple(d for d in self.deliveries if d.status in statuses)

    @property
    def unknown(self) -> tuple[DeliveryStanding, ...]:
        """Those that may have arrived. They must not be sent again by anybody."""
        return self.where(DeliveryStatus.UNKNOWN)

    @property
    def on_its_way(self) -> tuple[DeliveryStanding, ...]:
        """Those that a machine goes on with by itself."""
        moving = self.where(DeliveryStatus.PENDING, DeliveryStatus.SUBMITTING)
        return tuple(d for d in moving if not d.waits_for_person)

    def __str__(self) -> str:
        total = len({(d.message, d.channel, d.destination) for d in self.deliveries})
        parts = len(self.deliveries)
        noun = "destination" if total == 1 else "destinations"
        split = f" in {parts} deliveries" if parts != total else ""
        counts = ", ".join(f"{count} {status}" for status, count in sorted(self.counts.items()))
        said = f"{total} of {total} {noun}{split}: {counts}" if total else "no destinations"
        owed = f"; not recorded yet: {', '.join(self.announced)}" if self.announced else ""
        return said + owed


@dataclass(frozen=True, slots=True)
class StepDone:
    """A completed step and the result that counts."""

    step_id: str
    version: int
    result: Json


@dataclass(frozen=True, slots=True)
class Owed:
    """What a restarted agent must know about one run.

    `done`: the work that need not be done again, with its results. `open_steps`: started or
    failed, to be started again. `standing`: every message of the run. `announced`: messages that
    completed steps still owe, as (step, name).
    """

    run_id: str
    status: str
    done: tuple[StepDone, ...]
    open_steps: tuple[str, ...]
    standing: Standing
    announced: tuple[tuple[str, str], ...]

    @property
    def must_not_send(self) -> tuple[DeliveryStanding, ...]:
        """What is on its way, may have arrived, or has: all of it is taken care of."""
        return tuple(d for d in self.standing.deliveries if d.advice != "not_sent")


class Sent:
    """The messages of one step. Nothing is sent by looking.

    The step is found by its name: after a restore its number may be another step's.
    """

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._named = {
            "run__run_id": lease.run_id,
            "step_id": lease.step_id,
            "version": lease.version,
        }

    def standing(self) -> Standing:
        """How they stand now.

        Raises:
            LeaseLostError: a restored database has forgotten the step.
        """
        step = Step.objects.prefetch_related("messages").filter(**self._named).first()
        if step is None:
            raise LeaseLostError(forgotten_text(self._lease.run_id))
        announced = tuple(name for _, name in _announced([step]))
        return standing(Delivery.objects.filter(message__step=step), announced)

    def wait(self, seconds: float) -> Standing:
        """Until a worker has finished with all of them or left them to a person, at most so long.

        Args:
            seconds: the longest to wait. Running out of it means nothing but that: what is not
                delivered yet is still on its way.

        Returns:
            how they stand then.

        Raises:
            LeaseLostError: a restored database has forgotten the step.
        """
        for pause in _pauses(seconds):
            if not self._moving():
                break
            time.sleep(pause)
        return self.standing()

    async def astanding(self) -> Standing:
        """`standing`, for async code."""
        return await sync_to_async(self.standing)()

    async def await_(self, seconds: float) -> Standing:
        """`wait`, for async code: other tasks, and their queries, go on meanwhile."""
        for pause in _pauses(seconds):
            if not await sync_to_async(self._moving)():
                break
            await asyncio.sleep(pause)
        return await self.astanding()

    def _moving(self) -> bool:
        named = {f"message__step__{field}": value for field, value in self._named.items()}
        return Delivery.objects.filter(**named, status__in=OPEN, outbox_item__isnull=False).exists()


def _pauses(seconds: float) -> Iterator[float]:
    """Ever longer pauses between looks, which together last no longer than that."""
    end, pause = boottime() + seconds, _FIRST_LOOK_S
    while (left := end - boottime()) > 0:
        yield min(pause, left)
        pause = min(pause * 1.5, _SLOWEST_LOOK_S)


def standing(deliveries: Iterable[Delivery], announced: tuple[str, ...] = ()) -> Standing:
    """The standing of these deliveries, in the order of their recording."""
    rows = Delivery.objects.filter(pk__in=[d.pk for d in deliveries]).select_related(
        "message__channel", "outbox_item"
    )
    return Standing(tuple(_one(row) for row in rows), announced)


def _one(row: Delivery) -> DeliveryStanding:
    return DeliveryStanding(
        delivery_id=str(row.delivery_id),
        message=row.message.name,
        channel=row.message.channel.slug,
        destination=row.destination,
        part=row.part,
        generation=row.generation,
        status=str(row.status),
        cause=row.cause,
        advice=ADVICE[DeliveryStatus(row.status)],
        waits_for_person=row.status in OPEN and not hasattr(row, "outbox_item"),
        attempts=row.attempt_count,
        next_attempt_at=row.next_attempt_at,
        provider_message_id=row.provider_message_id,
    )


def owed(run_id: str) -> Owed:
    """What is done, what is on its way, and what must not be sent again.

    Raises:
        NotFoundError: there is no run of this name.
        InvalidValueError: no run can have this name.
    """
    check_name(run_id, "run_id")
    run = Run.objects.filter(run_id=run_id).first()
    if run is None:
        raise NotFoundError(purged_run(run_id) or f"run_id: there is no run {run_id!r}.")
    steps = list(run.steps.prefetch_related("messages"))
    announced = _announced(steps)
    return Owed(
        run_id=run.run_id,
        status=str(run.status),
        done=tuple(_done(step) for step in steps if step.status == StepStatus.COMPLETED),
        open_steps=tuple(s.step_id for s in steps if s.status != StepStatus.COMPLETED),
        standing=standing(
            Delivery.objects.filter(message__step__run=run), tuple(name for _, name in announced)
        ),
        announced=announced,
    )


def _done(step: Step) -> StepDone:
    return StepDone(step.step_id, step.version, json.loads(step.result or "null"))


def _announced(steps: Sequence[Step]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (step.step_id, name)
        for step in steps
        for name in step.announces
        if name not in {message.name for message in step.messages.all()}
    )
