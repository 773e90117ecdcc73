"""A journal that writes everything down, for tests that ask how far a call got."""

from collections.abc import Callable

from delivery.channels.contract import Journal
from delivery.timing import boottime


class Notebook(Journal):
    """Records phases and bytes in order. `at_last_check` runs in the last check's place."""

    def __init__(
        self, seconds: float = 5.0, at_last_check: Callable[[], None] = lambda: None
    ) -> None:
        self._deadline = boottime() + seconds
        self._at_last_check = at_last_check
        self.entries: list[str] = []
        self.written = 0

    @property
    def deadline(self) -> float:
        return self._deadline

    def reached(self, phase: str) -> None:
        self.entries.append(phase)

    def before_first_byte(self) -> None:
        self.entries.append("last check")
        self._at_last_check()

    def wrote(self, count: int) -> None:
        self.written += count
