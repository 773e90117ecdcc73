"""What one submission can end in, as values. Anything that fits no other class is `Ambiguous`.

An adapter returns exactly one of these from `submit`. Which one is decided by how far the bytes got
and by what the provider is known to mean, never by an exception's class alone.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Accepted:
    """The provider took responsibility. `replayed`: it says so for an earlier submission."""

    provider_message_id: str = ""
    replayed: bool = False
    response: str = ""
    outcome: ClassVar[str] = "accepted"


@dataclass(frozen=True, slots=True)
class Refused:
    """The provider said no, and is known to say so before it acts.

    `permanent`: the same submission can never succeed, so nothing more is tried by machine.
    """

    why: str
    permanent: bool = True
    response: str = ""
    outcome: ClassVar[str] = "refused"


@dataclass(frozen=True, slots=True)
class Unauthorised:
    """The provider does not let this credential in, or not for this; so it accepted nothing.

    That says nothing about the message: it costs no attempt, and whatever else takes the same way
    waits until the credential is another one or was checked. `needed`: the scopes that are lacking,
    as the provider names them; empty where it refuses the credential itself. `granted`: those that
    it says there are.
    """

    why: str
    needed: tuple[str, ...] = ()
    granted: tuple[str, ...] = ()
    response: str = ""
    outcome: ClassVar[str] = "unauthorised"


@dataclass(frozen=True, slots=True)
class Deferred:
    """Provably not accepted, and the provider asks to come back later. Costs no attempt.

    `retry_after_s`: seconds the provider asked for; None where it named none.
    """

    why: str
    retry_after_s: float | None = None
    response: str = ""
    outcome: ClassVar[str] = "deferred"


@dataclass(frozen=True, slots=True)
class NotSent:
    """No complete submission can have reached the provider.

    `tried` is False where the sender itself held back (lease too short, key window closed,
    withdrawn): such an attempt is on record but costs nothing of the budget.
    """

    why: str
    tried: bool = True
    response: str = ""

    @property
    def outcome(self) -> str:
        return "not_sent" if self.tried else "not_tried"


@dataclass(frozen=True, slots=True)
class InFlight:
    """The provider says an earlier submission with this key is still being worked on."""

    why: str
    retry_after_s: float | None = None
    response: str = ""
    outcome: ClassVar[str] = "in_flight"


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """It may have been accepted.

    `mismatch`: the provider takes it for another message: it says that this key came with another
    body before, or names a message that another delivery became. The same key can then settle
    nothing. `retry_after_s`: seconds
    the provider asked for before the same key may come again; None where it named none.
    """

    why: str
    mismatch: bool = False
    response: str = ""
    retry_after_s: float | None = None

    @property
    def outcome(self) -> str:
        return "mismatch" if self.mismatch else "ambiguous"


Outcome = Accepted | Refused | Unauthorised | Deferred | NotSent | InFlight | Ambiguous
