"""Reading a surface page by page for our own recognizer, and judging strictly what was not seen.

"Absent" is the one answer that can lead to a second submission, so a scan says it only if every
reason to doubt is excluded: the surface shows every message, the reader may see them, a control
message was seen (a reader without the permission gets an empty list from Discord, and no error),
every page was read, newest first, back to before the first attempt, and nothing there hints that
the message exists after all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from delivery.channels.contract import Finding, Query
from delivery.channels.declaration import Surface
from delivery.channels.texts import mentions, signed_by_another

# The surface's clock is not ours. A match may seem this much older than the first attempt, and
# a scan goes back this much further before it says that it covered the time.
CLOCK_TOLERANCE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Seen:
    """One message on a surface. `hidden`: what stands in the recognizer's invisible place."""

    id: str
    author: str
    at: datetime
    text: str
    hidden: str = ""

    def carries(self, recognizer: str) -> bool:
        return self.hidden == recognizer or mentions(self.text, recognizer)

    def quotes(self, recognizer: str) -> bool:
        """Whether it is another message of ours, which only repeats what this one said."""
        if self.hidden:
            return self.hidden != recognizer
        return signed_by_another(self.text, recognizer)


@dataclass(frozen=True, slots=True)
class Page:
    """One page, newest first. `next`: the cursor of the following one, None at the end.

    `reader`: who is reading, by the surface's own word. `may_read`: whether that reader was
    seen to have the permission. `whole_history`: the end of the list is its true beginning.
    `since`: for a list that was asked to begin at a moment and runs from there to now, that one.
    """

    messages: tuple[Seen, ...]
    next: str | None
    reader: str
    may_read: bool
    whole_history: bool
    since: datetime | None = None


Verdict = Literal["found", "found_many", "absent", "inconclusive"]
Fetch = Callable[[str | None], Page | str]


class Scan:
    """One reading of one surface for one delivery."""

    def __init__(
        self, query: Query, surface: Surface, is_control: Callable[[Seen], bool], max_pages: int
    ) -> None:
        self._query = query
        self._surface = surface
        self._is_control = is_control
        self._max_pages = max_pages
        self._matches: dict[str, Seen] = {}
        self._doubts: dict[str, None] = {}
        self._control_seen = False
        self._read_to_the_end = False
        self._oldest: datetime | None = None
        self._pages = 0

    def read(self, fetch: Fetch, searched: str) -> Finding:
        """Read pages until the time is covered and the control message seen, and judge.

        Args:
            fetch: the page at a cursor (None is the newest), or why it could not be had.
            searched: the query in words that a person can repeat.
        """
        cursor: str | None = None
        while self._pages < self._max_pages:
            page = fetch(cursor)
            if isinstance(page, str):
                self._doubt(f"page {self._pages + 1}: {page}")
                return self._judge(searched)
            self._take(page)
            if self._is_covered(page):
                return self._judge(searched)
            if page.next is None:
                self._doubt("the list ends before the first attempt: older messages are not kept")
                return self._judge(searched)
            cursor = page.next
        self._doubt(f"gave up after {self._max_pages} pages")
        return self._judge(searched)

    def _doubt(self, why: str) -> None:
        self._doubts[why] = None

    def _take(self, page: Page) -> None:
        self._pages += 1
        if not page.may_read:
            self._doubt(f"the reader was not seen to have {self._surface.permission}")
        for seen in page.messages:
            if page.since is None and self._oldest is not None and seen.at > self._oldest:
                self._doubt("the list is not in order, newest first")
            self._oldest = seen.at if self._oldest is None else min(self._oldest, seen.at)
            self._control_seen |= self._is_control(seen)
            if seen.carries(self._query.recognizer):
                self._weigh(seen, page.reader)

    def _weigh(self, seen: Seen, reader: str) -> None:
        """A match is ours, or a reason to doubt: who could have copied what was never shown?"""
        if seen.quotes(self._query.recognizer):
            self._doubt(f"message {seen.id} carries the recognizer but quotes it in another one")
        elif seen.author != reader:
            self._doubt(f"message {seen.id} carries the recognizer but is by {seen.author}")
        elif seen.at < self._query.since - CLOCK_TOLERANCE:
            self._doubt(f"message {seen.id} carries the recognizer but is older than any attempt")
        else:
            self._matches[seen.id] = seen

    def _is_covered(self, page: Page) -> bool:
        if page.since is not None:  # what matters comes last, so all of it must be read
            self._read_to_the_end = page.next is None
            return page.next is None and page.since <= self._query.since
        if page.next is None and page.whole_history:
            self._read_to_the_end = True
            return True
        back_to = self._query.since - CLOCK_TOLERANCE
        return self._control_seen and self._oldest is not None and self._oldest < back_to

    def _covered_from(self) -> datetime | None:
        """Since when everything was seen; at the latest since the first attempt if all was read."""
        if self._oldest is None or not self._read_to_the_end:
            return self._oldest
        return min(self._oldest, self._query.since)

    def _judge(self, searched: str) -> Finding:
        if not self._surface.complete:
            self._doubt("the surface is not declared to show every message")
        if not self._control_seen:
            self._doubt("the control message was not seen")
        matches = sorted(self._matches.values(), key=lambda seen: seen.at)
        if matches:
            verdict: Verdict = "found" if len(matches) == 1 else "found_many"
        else:
            verdict = "inconclusive" if self._doubts else "absent"
        return Finding(
            method="surface_scan",
            verdict=verdict,
            searched=searched,
            why=self._why(verdict),
            provider_message_id=matches[0].id if matches else "",
            covered_from=self._covered_from(),
            pages=self._pages,
            response=_listed(matches),
        )

    def _why(self, verdict: Verdict) -> str:
        """What stands against it, or what was checked before nothing could count as absent."""
        if verdict == "inconclusive":
            return "; ".join(self._doubts)
        if verdict != "absent":
            return ""
        may = self._surface.permission or "read it"
        return f"all of it was read, a control message was seen, and the reader may: {may}"


def _listed(matches: list[Seen]) -> str:
    return "; ".join(f"{seen.id} by {seen.author} at {seen.at.isoformat()}" for seen in matches)[
        :4000
    ]


def moment(written: str) -> datetime:
    """An ISO 8601 moment, in UTC where it names no zone. Raises ValueError."""
    read = datetime.fromisoformat(written)
    return read if read.tzinfo else read.replace(tzinfo=UTC)
