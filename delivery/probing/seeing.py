"""Ask the destination whether the last probe is there. What is seen is noted, and decides nothing.

Where a channel cannot be searched, its provider's acceptance is all there is to see.
"""

import logging
from datetime import timedelta

from delivery.decide import decide
from delivery.history import read
from delivery.models import Probe
from delivery.probing.sending import delivery_of
from delivery.reconcile import search_for
from delivery.ways import Ways
from ledgers.clock import database_now
from ledgers.models import Delivery
from ledgers.states import DeliveryStatus

logger = logging.getLogger(__name__)
# A provider is asked again no sooner.
PAUSE = timedelta(seconds=30)
MAX_SAID = 300


def look_for_all() -> None:
    """Look for each probe that was accepted and has not been seen yet. Never raises for one."""
    waiting = Probe.objects.filter(unseen_since__isnull=False, delivery_id__isnull=False)
    for row in waiting.select_related("channel"):
        try:
            _look_for(row)
        except Exception:  # whatever an adapter makes of it, the others are looked for
            logger.exception("the probe of channel %s cannot be looked for", row.channel.slug)


def _look_for(row: Probe) -> None:
    now, delivery = database_now(), delivery_of(row)
    if delivery is None or delivery.status != DeliveryStatus.DELIVERED:
        _note(row, f"it is {delivery.status}" if delivery else "it is gone")
        return
    if row.looked_at is not None and now < row.looked_at + PAUSE:
        return
    seen, said = _seen(delivery)
    Probe.objects.filter(pk=row.pk, run_id=row.run_id).update(
        looked_at=now,
        said=said[:MAX_SAID],
        **({"seen_at": now, "unseen_since": None} if seen else {}),
    )


def _note(row: Probe, said: str) -> None:
    if row.said != said:
        Probe.objects.filter(pk=row.pk, run_id=row.run_id).update(said=said)


def _seen(delivery: Delivery) -> tuple[bool, str]:
    """Whether it is at its destination, and how that is known."""
    ways = Ways()
    (case,) = read([delivery.pk], ways)
    declared = ways.of(case.channel_id).adapter.declare()
    if not declared.can_look_up:
        return True, "accepted; this channel cannot be searched"
    search = search_for(decide(case), ways)
    search.run()
    found = next((f for f in search.findings if f.verdict in {"found", "found_many"}), None)
    if found is not None:
        return True, f"found by {found.method.replace('_', ' ')}"
    last = search.findings[-1]
    return False, f"accepted, and {last.verdict} there: {last.why}"
