"""What django-q2 runs. It is a supervisor and a clock here; the rows decide.

Losing any of these wake-ups costs a delay, never a delivery.
"""

import logging
import threading

from django.conf import settings

from delivery.timing import boottime

logger = logging.getLogger(__name__)

SHIFT_S = 15.0
_HINT_EVERY_S = 1.0
_last_hint = 0.0
_lock = threading.Lock()


def hint() -> None:
    """Ask a q cluster for a shift, at most once a second per process.

    Only where the installation says that it runs one: tasks nobody fetches would pile up.
    """
    global _last_hint  # noqa: PLW0603  one process, one memory of its last hint
    if not settings.COUNTERFOIL_QCLUSTER:
        return
    with _lock:
        if boottime() - _last_hint < _HINT_EVERY_S:
            return
        _last_hint = boottime()
    from django_q.tasks import async_task  # noqa: PLC0415  its models need the app registry

    async_task("delivery.tasks.work_shift", q_options={"timeout": -1, "save": False})


def work_shift() -> int:
    """Work what is due, for at most 15 seconds, and return how much was settled."""
    from delivery.sealing import seal_if_due  # noqa: PLC0415  needs the app registry
    from delivery.worker import Worker  # noqa: PLC0415

    settled = Worker(mode="shift").run_shift(SHIFT_S)
    seal_if_due()
    return settled
