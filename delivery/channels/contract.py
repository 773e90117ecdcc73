"""What an adapter declares, what it is given, and what it must answer.

One adapter is one file in this folder and the only code that touches the network. It is
instantiated per call from a channel's row (`Adapter(settings, secret)`), keeps no state, never
retries, never follows a redirect, and never logs a secret. `declare` must answer without I/O.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal, Protocol

from delivery.channels.settings import Settings, complaints
from delivery.outcomes import Outcome

Json = Any  # a value that `ledgers.canonical` accepted: JSON types only


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
    `ids_are_unique`: the provider names no two messages to one destination alike, so an answer with
    the id of another message of ours is about that one, and proves nothing about this.
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
    met: Literal["real server", "contract only"] = "contract only"

    def frozen(self) -> dict[str, Json]:
        """The declaration as plain JSON, to be kept with each message."""
        return asdict(self)

    @property
    def can_look_up(self) -> bool:
        return self.look_up_by_key or self.look_up_by_id or self.surface is not None


@dataclass(frozen=True, slots=True)
class Envelope:
    """What is to be rendered: one part, for one destination.

    `content` is what the agent recorded (or one part of it, from `split`), `part` counts from 1,
    `marker` is the visible mark of a resend that a person approved, else empty.
    """

    content: Json
    destination: str
    part: int
    parts: int
    recognizer: str
    marker: str = ""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The exact bytes of one submission. The same envelope always renders the same bytes.

    `body` is hashed when recorded and compared again before each attempt. `extra` holds what
    the adapter needs besides (headers, an address); nothing that depends on the attempt.
    """

    body: bytes
    destination: str
    extra: Mapping[str, str] = field(default_factory=dict)


class Journal(Protocol):
    """How a transport reports, while a call is running, how far the bytes got."""

    @property
    def deadline(self) -> float:
        """The moment on `delivery.timing.boottime()` by which the call must have ended."""

    def reached(self, phase: str) -> None:
        """Note the furthest phase: connecting, connected, writing, written, status."""

    def before_first_byte(self) -> None:
        """Repeat the last check; raises `delivery.errors.HeldBackError` if nothing may leave."""

    def wrote(self, count: int) -> None:
        """Count bytes that were handed to the operating system."""


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for. All of it is known before anything was ever sent.

    `since`: just before the first attempt of any generation; a match must not be older.
    `provider_message_id` is empty where no answer ever named one.
    """

    delivery_id: str
    key: str
    recognizer: str
    destination: str
    provider_message_id: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Finding:
    """What a look-up or a scan saw.

    `verdict`: `found`, `found_many`, `absent` or `inconclusive`. An adapter says `absent` only
    if the answer is authoritative: the surface declared complete, the whole time since
    `Query.since` covered (`covered_from`), the permission checked and a control message seen,
    or the provider's own key index asked. `searched` is the exact query, fit to be copied.
    """

    method: Literal["key_lookup", "id_lookup", "surface_scan"]
    verdict: Literal["found", "found_many", "absent", "inconclusive"]
    searched: str
    why: str = ""
    provider_message_id: str = ""
    covered_from: datetime | None = None
    pages: int = 0
    response: str = ""


Secret = Callable[[], str]


class Adapter(ABC):
    """Base of all adapters. Subclasses set `slug` and `known`, and override what they can do.

    Args of the constructor: `settings`, the channel row's own settings (plain JSON, already
    checked by `check_settings`), and `secret`, a callable that reads the credential's secret
    through its reference at the moment of use; it returns an empty string where there is none.
    """

    slug: ClassVar[str]
    known: ClassVar[Settings] = {}

    def __init__(self, settings: Mapping[str, Json], secret: Secret) -> None:
        self.settings = settings
        self.secret = secret

    @classmethod
    def check_settings(cls, settings: Mapping[str, Json]) -> list[str]:
        """Complaints about a channel's settings, each naming the field and what would be right."""
        return complaints(cls.known, settings)

    def option(self, name: str) -> Json:
        """The channel's setting of that name, or what the adapter's table says without one."""
        return self.settings.get(name, self.known[name].default)

    @abstractmethod
    def declare(self) -> Declaration:
        """What this provider promises, with this channel's settings. No I/O."""

    @abstractmethod
    def normalise(self, destination: str) -> str:
        """The one spelling of a destination; never changes its answer.

        Raises:
            delivery.errors.BadDestinationError: saying what a right one looks like.
        """

    def check_content(self, content: Json) -> None:
        """Raises `delivery.errors.BadContentError` if this content can never be rendered."""
        del content

    def split(self, content: Json) -> list[Json]:
        """The content as numbered parts, in order. One part where nothing needs splitting."""
        return [content]

    @abstractmethod
    def render(self, envelope: Envelope) -> Rendered:
        """The exact bytes to be sent. Pure: no clock, no network, no randomness."""

    @abstractmethod
    def submit(self, rendered: Rendered, key: str, journal: Journal) -> Outcome:
        """Put one submission on the wire, exactly one, and say what is known about it."""

    def endpoint(self) -> str:
        """Who answers on this channel, besides the destination: an address, a function.

        A key, and a search that finds nothing, mean something only where the message went. A
        channel that is pointed elsewhere therefore protects and clears nothing that went before.
        """
        return ""

    def route(self, destination: str) -> str:
        """What fails together: destinations behind one route share a circuit breaker.

        Empty: all of the channel does.
        """
        del destination
        return ""

    def ready(self) -> str:
        """Empty where a call could be made now, else why not. Cheap; no submission."""
        return ""

    def look_up(self, query: Query, deadline: float) -> Iterator[Finding]:
        """Ask the provider by key, then by its id, then scan; stop at the first `found`.

        Args:
            query: what to look for.
            deadline: the moment on `delivery.timing.boottime()` by which all of it must end.
        """
        del query, deadline
        yield from ()
