"""Telling others that something was delivered. What they do with it cannot undo it.

Receivers of `delivered` run after the commit, each on its own. A receiver that raises is an event
in the trail and nothing more: the delivery stays delivered.
"""

import logging
from collections.abc import Sequence

from django.dispatch import Signal

from delivery.history import Case
from ledgers.trail import log

logger = logging.getLogger(__name__)

# Sent with `delivery_id` (UUID), `destination` and `pk` (of `ledgers.models.Delivery`).
delivered = Signal()


def tell(cases: Sequence[Case]) -> None:
    """Call the receivers for each delivery that was found delivered. Never raises."""
    if not delivered.receivers:
        return
    for case in cases:
        try:
            answers = delivered.send_robust(
                sender=None, delivery_id=case.delivery_id, destination=case.destination, pk=case.id
            )
        except BaseException as error:  # noqa: BLE001  it lets a receiver's sys.exit() through
            _note_failure(case, "a receiver", error)
            continue
        for receiver, answer in answers:
            if isinstance(answer, Exception):
                _note_failure(case, getattr(receiver, "__qualname__", repr(receiver)), answer)


def _note_failure(case: Case, name: str, error: BaseException) -> None:
    try:
        log(
            "hook_failed",
            "worker",
            delivery_pk=case.id,
            detail={"receiver": name, "error": type(error).__name__},
        )
    except Exception:
        logger.exception("hook %s failed for delivery %s", name, case.delivery_id)
