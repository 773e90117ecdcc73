"""What a restore drill plays: kinds of channel, and what became of each message when.

A restored backup has forgotten what was sent after it. What can be known all the same depends on
the channel: one whose destination can be searched finds it, one whose provider honours keys may
send again under the same key, and of the third nobody can know.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

LEASE_S, DEADLINE_S, MARGIN_S = 2.0, 1.0, 0.5
WINDOW_S = 600.0

BEFORE = "sent before the backup"
BETWEEN = "due when it was made, sent afterwards"
AFTER = "recorded and sent afterwards"
NEVER = "due when it was made, never accepted"
KEPT = "due when it was made, kept back by a pause"
NAMES = {BEFORE: "before", BETWEEN: "between", AFTER: "after", NEVER: "never", KEPT: "kept"}
RUNS = {BEFORE: "drill-before", BETWEEN: "drill-between", AFTER: "drill-after"}

KEYED, SEARCHED, BLIND = "drill-keyed", "drill-searched", "drill-blind"
PAUSED = "drill-paused"  # as blind; so what it sent people know, and no machine
CHANNELS = (KEYED, SEARCHED, BLIND, PAUSED)


@dataclass(frozen=True, slots=True)
class Part:
    """One destination: on which channel, and what became of it."""

    channel: str
    fate: str

    @property
    def to(self) -> str:
        return f"{self.channel.removeprefix('drill-')}:{NAMES[self.fate]}"

    @property
    def run(self) -> str:
        return RUNS.get(self.fate, RUNS[BETWEEN])


PARTS = (
    *(Part(way, fate) for way in (KEYED, SEARCHED, BLIND) for fate in (BEFORE, BETWEEN, AFTER)),
    Part(SEARCHED, NEVER),
    Part(PAUSED, KEPT),
)


def ways(url: str) -> list[dict[str, Any]]:
    """The channels, led to this recipient."""
    blind = {"look_up_by_key": False, "look_up_by_id": False, "scan": False, "url": url}
    return [
        _way(KEYED, blind | {"dedupe_window_s": WINDOW_S}),
        _way(SEARCHED, blind | {"scan": True}, look_up_schedule=[0, 1]),
        _way(BLIND, blind),
        _way(PAUSED, blind),
    ]


def _way(slug: str, settings: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "slug": slug,
        "adapter": "simulator",
        "settings": settings,
        "retry_schedule": [0],
        "look_up_schedule": [],
        "lease_s": LEASE_S,
        "deadline_s": DEADLINE_S,
        "margin_s": MARGIN_S,
        "resend_after_absent": "automatic",
        "for_testing": True,
        **more,
    }


def messages(run: str) -> list[dict[str, Any]]:
    """What a run owes, one message per channel."""
    return [
        {"name": "drill", "channel": channel, "to": to, "content": f"A drill: {run}."}
        for channel in CHANNELS
        if (to := [part.to for part in PARTS if part.run == run and part.channel == channel])
    ]


def of(fates: Iterable[str]) -> list[Part]:
    """The parts with one of these fates."""
    wanted = set(fates)
    return [part for part in PARTS if part.fate in wanted]
