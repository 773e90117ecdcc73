"""Writing to the trail what is not a move of a delivery. Moves write their own events."""

from ledgers.canonical import Json
from ledgers.clock import ClockTimestamp
from ledgers.models import Event, Run, Step


def log(
    kind: str,
    actor: str,
    *,
    run: Run | None = None,
    step: Step | None = None,
    delivery_pk: int | None = None,
    detail: dict[str, Json] | None = None,
) -> None:
    """Append one event. A step brings its run along."""
    Event.objects.create(
        at=ClockTimestamp(),
        kind=kind,
        actor=actor,
        run_id=run.pk if run else step.run_id if step else None,
        step=step,
        delivery_id=delivery_pk,
        detail=detail or {},
    )
