"""Other databases that agents and workers of this host use, by what they noted outside of them."""

from delivery import canary
from delivery.silence import SILENT_S
from delivery.watch.figures import Elsewhere
from ledgers import instance

RECORDED_WITHIN_S = 86_400


def read() -> Elsewhere:
    """What is noted on this host about databases other than the present one."""
    here = instance.present()
    beating = [one for one in canary.workers() if one.age_s <= SILENT_S]
    worked = {canary.fingerprint(one.instance) for one in beating}
    away = [one for one in canary.recorders() if one.instance != here]
    lost = [
        one
        for one in away
        if one.age_s <= RECORDED_WITHIN_S and canary.fingerprint(one.instance) not in worked
    ]
    return Elsewhere(
        here=canary.fingerprint(here),
        workers=tuple(sorted(worked - {canary.fingerprint(here)})),
        recorders=tuple((canary.fingerprint(one.instance), one.age_s) for one in lost),
    )
