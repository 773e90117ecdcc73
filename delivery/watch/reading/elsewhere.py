"""Other databases that agents and workers of this host use, by what they noted outside of them."""

from delivery import canary, mark
from delivery.silence import SILENT_S
from delivery.watch.figures import Elsewhere
from ledgers import instance
from ledgers.clock import database_now
from ledgers.models import Installation

RECORDED_WITHIN_S = 86_400


def read() -> Elsewhere:
    """What is noted on this host about databases other than the present one."""
    here = instance.present()
    beating = [one for one in canary.workers() if one.age_s <= SILENT_S]
    worked = {one.instance.fingerprint for one in beating}
    away = [one for one in canary.recorders() if one.instance != here]
    lost = [
        one
        for one in away
        if one.age_s <= RECORDED_WITHIN_S and one.instance.fingerprint not in worked
    ]
    if lost:
        lost = _not_of_before(lost)
    return Elsewhere(
        here=here.fingerprint,
        workers=tuple(sorted(worked - {here.fingerprint})),
        recorders=tuple((one.instance.fingerprint, one.age_s) for one in lost),
    )


def _not_of_before(noted: list[canary.Trace]) -> list[canary.Trace]:
    """Without what agents recorded in this installation's database of before it was restored."""
    row = Installation.objects.get()
    if row.restored_at is None:
        return noted
    since_s = (database_now() - row.restored_at).total_seconds()
    return [
        one
        for one in noted
        if one.age_s < since_s or not mark.path_of(row.namespace, one.instance).exists()
    ]
