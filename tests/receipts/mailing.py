"""Mail that a provider accepted, and mail whose answer was lost."""

import threading
from collections.abc import Callable

from ledgers.models import Delivery
from tests.contract.vendor import Answer, Ask
from tests.contract.vendors import Resend
from tests.factories import delivery, record, sweep

TO = "ops@acme.test"


class SlowResend(Resend):
    """It accepts, and answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.accepted, self.go = threading.Event(), threading.Event()
        self.slow = False
        self.report_first: Callable[[str], object] = lambda name: None

    def answer(self, ask: Ask) -> Answer | None:
        said = super().answer(ask)
        if self.submission(ask) and self.entries:
            self.report_first(self.entries[-1].id)
        if self.slow:
            self.accepted.set()
            assert self.go.wait(20)
        return said


def sent(mailer: SlowResend) -> Delivery:
    """One that was accepted."""
    record([TO])
    sweep()
    row = delivery(TO)
    assert row.status == "delivered"
    return row


def lost(mailer: SlowResend) -> Delivery:
    """One whose answer was lost."""
    mailer.lose_answers = True
    record([TO])
    sweep()
    row = delivery(TO)
    assert row.status == "unknown"
    return row
