"""A running worker learns of the global hold, also for calls that it has already handed out.

The rows' own decisions read the hold with every wave. This is for what was written ahead before:
a call that is still connecting has not let its first byte go, and its last check looks here.
"""

from delivery.journal import stop_sign
from delivery.timing import boottime
from ledgers.models import Installation

LEARNED_EVERY_S = 1.0


class Hold:
    """Looks at most once a second. One per worker; the sign is the process's."""

    def __init__(self) -> None:
        self._next = 0.0
        self._held = False
        self.lifted = False  # it was there and is gone; whoever acts on that takes it back

    def learn(self) -> bool:
        """Put the sign up, or take it down, as the installation's row says."""
        if boottime() < self._next:
            return True
        self._next = boottime() + LEARNED_EVERY_S
        reasons = Installation.objects.filter(held_at__isnull=False)
        reason = "".join(reasons.values_list("held_reason", flat=True))
        self.lifted = self.lifted or (self._held and not reason)
        self._held = bool(reason)
        stop_sign.hold(reason)
        return True
