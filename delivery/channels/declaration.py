"""What an adapter declares about its provider: data that the rules and the console read.

It is frozen on each message when that is recorded, so that what a delivery was promised cannot
change under it. Every number has a source; what nobody documented counts as nothing.
"""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Json = Any

# A window shorter than this ends before the last look of an ordinary schedule.
SHORT_WINDOW_S = 3600.0
Tier = Literal["A", "B", "C", "D", "E"]
TIERS: dict[Tier, str] = {
    "A": "can be asked by key: an unknown send resolves itself",
    "B": "honours a key: an unknown send is repeated under the same key while the window is open",
    "C": "honours a key for a short time, and can be searched afterwards",
    "D": "honours no key, but can be searched",
    "E": "blind: only a person can tell",
}


@dataclass(frozen=True, slots=True)
class KeyForm:
    """How the provider wants the idempotency key.

    `place`: where it goes, in words an operator understands (`header Idempotency-Key`).
    `form`: `uuid` (hyphenated, lower case) or `token` (letter first, a-z and 2-7).
    `max_length`: the provider's limit in characters.
    """

    place: str
    form: Literal["uuid", "token"] = "uuid"
    max_length: int = 255


@dataclass(frozen=True, slots=True)
class Window:
    """For how long the provider deduplicates a key, in seconds; undocumented counts as zero."""

    seconds: float = 0.0
    source: str = "undocumented"
    confidence: Literal["measured", "documented", "operator", "none"] = "none"


@dataclass(frozen=True, slots=True)
class Surface:
    """A place where our own messages can be found again by their recognizer.

    `complete`: a scan that covers the whole time and finds nothing proves absence.
    `permission`: what the reader must be allowed to see for that to hold.
    """

    name: str
    complete: bool
    permission: str = ""


@dataclass(frozen=True, slots=True)
class Declaration:
    """Everything the rules and the console need to know about a channel's provider.

    `processing_s`: how long after the last byte the provider may take to show a message (its
    settle delay). `deadline_s`: the most that one call may take in all, in seconds.
    `key_scope`: the principal within which the key is honoured. `met`: how it was tested.
    `questions_per_minute`: how many questions the provider takes without counting them against
    the sender; 0 is no limit. `scopes`: what a credential needs. `receipts`: what the provider
    reports by itself, later. `ids_are_unique`: the provider names no two messages to one
    destination alike, so an answer with the id of another message of ours is about that one, and
    proves nothing about this.
    """

    adapter: str
    key: KeyForm | None = None
    window: Window = field(default_factory=Window)
    key_scope: Literal["endpoint", "credential", "device", "none"] = "none"
    on_duplicate: str = "a second message"
    on_mismatch: str = "not detected"
    on_in_flight: str = "not detected"
    look_up_by_key: bool = False
    look_up_by_id: bool = False
    surface: Surface | None = None
    recognizer_places: tuple[str, ...] = ()
    refusals: str = "none proves non-acceptance"
    rate_limit_proves_rejection: bool = False
    ids_are_unique: bool = False
    processing_s: float = 0.0
    deadline_s: float = 10.0
    introspection: str = "none"
    questions_per_minute: float = 0.0
    scopes: tuple[str, ...] = ()
    receipts: str = "none"
    met: Literal["real server", "contract only"] = "contract only"

    def frozen(self) -> dict[str, Json]:
        """The declaration as plain JSON, to be kept with each message."""
        return asdict(self)

    @property
    def can_look_up(self) -> bool:
        return self.look_up_by_key or self.look_up_by_id or self.surface is not None

    @property
    def tier(self) -> Tier:
        """How much of its truth can be had: see `TIERS`."""
        keyed = self.key is not None and self.window.seconds > 0
        if self.look_up_by_key:
            return "A"
        if keyed and (self.window.seconds >= SHORT_WINDOW_S or self.surface is None):
            return "B"
        if self.surface is not None:
            return "C" if keyed else "D"
        return "E"


def in_words(declared: Declaration) -> tuple[tuple[str, str], ...]:
    """The declaration as an operator reads it: pairs of what and how."""
    d = declared
    return (
        ("tier", f"{d.tier}: {TIERS[d.tier]}"),
        ("idempotency key", d.key.place if d.key else "none is honoured"),
        ("window", _window(d)),
        ("honoured within", "nothing" if d.key_scope == "none" else f"one {d.key_scope}"),
        ("a duplicate is", d.on_duplicate),
        ("same key, other body", d.on_mismatch),
        ("while one is in flight", d.on_in_flight),
        ("can be looked up", _looking(d)),
        ("recognizer goes into", ", ".join(d.recognizer_places) or "nothing"),
        ("refusals", d.refusals),
        ("a rate limit proves rejection", "yes" if d.rate_limit_proves_rejection else "no"),
        ("an id of another message", "no acceptance" if d.ids_are_unique else "not noticed"),
        ("shows a message after", f"{d.processing_s:g} s"),
        ("one call may take", f"{d.deadline_s:g} s"),
        ("questions it takes", _questions(d)),
        ("scopes it needs", ", ".join(d.scopes) or "none that have names"),
        ("scopes can be read back", "no" if d.introspection == "none" else d.introspection),
        ("receipts", d.receipts),
        ("how it was met", d.met),
    )


def _window(declared: Declaration) -> str:
    window = declared.window
    if window.seconds <= 0:
        return "none, or undocumented: counts as none"
    return f"{window.seconds:g} s ({window.confidence}: {window.source})"


def _questions(declared: Declaration) -> str:
    per_minute = declared.questions_per_minute
    return f"{per_minute:g} a minute" if per_minute else "without a limit of its own"


def _looking(declared: Declaration) -> str:
    ways = ["by key"] if declared.look_up_by_key else []
    ways += ["by the provider's id"] if declared.look_up_by_id else []
    if declared.surface:
        proof = "complete" if declared.surface.complete else "incomplete: proves no absence"
        ways.append(f"by scanning {declared.surface.name} ({proof})")
    return ", ".join(ways) or "no: nobody but a person can tell"
