"""The worlds that are explored, and the faults that must be found in them."""

from tests.model.world import Setup

MOST = 170_000

SETUPS: tuple[Setup, ...] = (
    Setup("no key, no look-up", until=9, tries=3),
    Setup("key", until=7, window=5),
    Setup("look-up, a person is asked", until=7, looks=2, people=("try again", "it arrived")),
    Setup("look-up, sent again by machine", until=8, looks=1, automatic=True),
    Setup("look-up without a lease, sometimes unclear", until=6, looks=1, unclear=True,
          reconciler=1),
    Setup("key and look-up", until=7, window=5, looks=1),
    Setup("every answer", until=6, window=3, not_after=3,
          answers=("refused", "deferred", "in_flight", "mismatch", "not_sent")),
    Setup("cancelled and reissued", until=5, answers=("refused", "not_sent"),
          people=("cancel", "reissue"), decisions=2),
    Setup("approved under the same key", until=6, window=4, people=("same key", "cancel")),
    Setup("approved as a second generation", until=5, people=("new generation", "leave")),
    Setup("both approvals", until=5, window=4, people=("new generation", "same key"),
          decisions=2),
    Setup("paused, resumed and cancelled", until=6, window=5,
          people=("pause", "resume", "cancel"), decisions=2),
)  # fmt: skip
