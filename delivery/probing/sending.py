"""Record a probe of each channel that asked for them, once per interval and installation.

It goes the way of every message: recorded by an agent's call, leased and sent by a worker. Its run
has a name of its own for each interval, so that any number of watches record one. It says that it
is a probe, to whoever reads it, and goes where the channel's operator said that nobody minds.
"""

import logging
from datetime import UTC, datetime, timedelta

from django.db import transaction

from delivery import agent
from delivery.errors import InvalidInputError
from delivery.models import Probe
from delivery.silence import PROBE, PROBE_TEXT
from ledgers import moves, rulings
from ledgers.clock import database_now
from ledgers.errors import LedgerError
from ledgers.models import Channel, Delivery, Installation
from ledgers.states import OPEN

logger = logging.getLogger(__name__)
LEFT_BECAUSE = "it was a probe, and the next one has its turn"


def record_due() -> int:
    """Record every probe whose turn has come, and tell how many. One that cannot be recorded stops
    no other.
    """
    if Installation.objects.filter(held_at__isnull=False).exists():
        return 0
    now, recorded = database_now(), 0
    for channel in Channel.objects.exclude(probe_to="").filter(
        paused_at=None, requires_approval=False
    ):
        try:
            recorded += _record(channel, now)
        except (LedgerError, InvalidInputError) as error:
            logger.warning("the probe of channel %s cannot be recorded: %s", channel.slug, error)
    return recorded


def slot_of(channel: Channel, now: datetime) -> datetime:
    """When the channel's present interval began, on a grid that every process shares."""
    every = max(channel.probe_every_s, 1.0)
    return datetime.fromtimestamp(now.timestamp() // every * every, UTC)


def run_id_of(channel: Channel, slot: datetime) -> str:
    """The same for everybody who records this interval's probe."""
    return f"{PROBE}-{channel.slug}-{slot:%Y%m%dT%H%M%SZ}"


def _record(channel: Channel, now: datetime) -> bool:
    slot = slot_of(channel, now)
    run_id = run_id_of(channel, slot)
    row, _ = Probe.objects.get_or_create(channel=channel)
    if row.run_id == run_id:
        return False
    _leave_open(row)
    # What nobody sends in two intervals is not sent late.
    last = slot + timedelta(seconds=2 * channel.probe_every_s)
    message = agent.Message(PROBE, channel.slug, [channel.probe_to], PROBE_TEXT, not_after=last)
    with agent.run(run_id, agent=PROBE) as run:
        step = run.step("probe")
        if not step.done:
            step.complete(None, [message])
    _begin(row.pk, run_id, now)
    return True


def _begin(pk: int, run_id: str, now: datetime) -> None:
    """The row is about the new one from now on; it remembers since when none has been seen."""
    with transaction.atomic():
        row = Probe.objects.select_for_update().get(pk=pk)
        if row.run_id == run_id:
            return  # another watch was quicker
        row.unseen_since = row.unseen_since or now
        row.run_id, row.recorded_at, row.looked_at, row.said = run_id, now, None, ""
        sent = Delivery.objects.filter(message__step__run__run_id=run_id).first()
        row.delivery_id = sent.delivery_id if sent else None
        row.save()


def delivery_of(row: Probe) -> Delivery | None:
    """The delivery of the last probe; None where there is none, or none any more."""
    if row.delivery_id is None:
        return None
    return Delivery.objects.filter(delivery_id=row.delivery_id).first()


def _leave_open(row: Probe) -> None:
    """The earlier one may be in doubt: that is no question for a person."""
    earlier = delivery_of(row)
    if earlier is None or earlier.status not in OPEN:
        return
    with transaction.atomic():
        held = moves.hold([earlier.pk])
        versions = {one.id: one.version for one in held.values()}
        rulings.decide(versions, "leave", rulings.By(PROBE, {"reason": LEFT_BECAUSE}))
