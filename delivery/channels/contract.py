"""What an adapter is given, and what it must answer; what it declares is in `declaration`.

One adapter is one file in this folder and the only code that touches the network. It is
instantiated per call from a channel's row (`Adapter(settings, secret)`), keeps no state, never
retries, never follows a redirect, and never logs a secret. `declare` must answer without I/O.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal, Protocol

from delivery.channels.declaration import Declaration
from delivery.channels.settings import Settings, complaints
from delivery.errors import BadReceiptError
from delivery.outcomes import Outcome

Json = Any  # a value that `ledgers.canonical` accepted: JSON types only


@dataclass(frozen=True, slots=True)
class Envelope:
    """What is to be rendered: one part, for one destination.

    `content` is what the agent recorded (or one part of it, from `split`), `part` counts from 1,
    `marker` is the visible mark of a resend that a person approved, else empty. `key` is the
    idempotency key, for providers that want it inside of the body.
    """

    content: Json
    destination: str
    part: int
    parts: int
    recognizer: str
    marker: str = ""
    key: str = ""


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


@dataclass(frozen=True, slots=True)
class Introspection:
    """What a provider says of the credential in use.

    `identity`: the account, as the provider names it; empty where it would not say. `scopes`:
    what was granted; None where the provider has no way to tell. `clock`: its time, from the
    answer. `refused`: it does not know this credential, or no more. `why`: what could not be
    learnt, and from whom.
    """

    identity: str = ""
    scopes: tuple[str, ...] | None = None
    clock: datetime | None = None
    refused: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Posted:
    """What somebody posted to a channel's address for receipts.

    `url` is the whole address as it was called, since some providers sign it. `body` is at most
    as long as the page takes. Field names of `headers` are in lower case.
    """

    url: str
    headers: Mapping[str, str]
    body: bytes
    at: datetime


@dataclass(frozen=True, slots=True)
class Receipt:
    """One thing that a provider reports about one message.

    `kind`: `accepted` (it took responsibility), `delivered` (it reached the end), `bounced`,
    `complained` or `failed` (it gave up after accepting). Each of them proves acceptance. The
    delivery is found by `provider_message_id` or `recognizer`; `receipt_id` is the provider's own
    name of this report, by which the same one, posted twice, counts once.
    """

    kind: Literal["accepted", "delivered", "bounced", "complained", "failed"]
    receipt_id: str
    provider_message_id: str = ""
    recognizer: str = ""
    at: datetime | None = None
    said: str = ""


Secret = Callable[[], str]


class Adapter(ABC):
    """Base of all adapters. Subclasses set `slug` and `known`, and override what they can do.

    Args of the constructor: `settings`, the channel row's own settings (plain JSON, already
    checked by `check_settings`), and `secret`, a callable that reads the credential's secret
    through its reference at the moment of use; it returns an empty string where there is none.
    """

    slug: ClassVar[str]
    known: ClassVar[Settings] = {}
    # Settings with which the provider promises the most, for the documentation.
    best: ClassVar[Mapping[str, Json]] = {}

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

    def introspect(self, deadline: float) -> Introspection:
        """Ask the provider who this credential is and what it may do. Submits nothing.

        Args:
            deadline: the moment on `delivery.timing.boottime()` by which all of it must end.
        """
        del deadline
        return Introspection(why="this provider has no way to tell")

    def classify_receipt(self, posted: Posted) -> Sequence[Receipt]:
        """What a provider's own report says, once its signature is verified. No I/O.

        Raises:
            delivery.errors.ForgedReceiptError: if it is not proven to come from the provider.
            delivery.errors.BadReceiptError: if it comes from there and cannot be read.
        """
        raise BadReceiptError("this adapter takes no receipts")

    def fetch_receipts(self, since: datetime, deadline: float) -> Iterator[Posted]:
        """Reports that have to be fetched, from a mailbox for one; each is then classified.

        Args:
            since: older ones are of no interest.
            deadline: the moment on `delivery.timing.boottime()` by which all of it must end.

        Raises:
            delivery.errors.BadReceiptError: if there is nowhere to fetch them, or it failed.
        """
        del since, deadline
        raise BadReceiptError("this channel has no mailbox for reports")
