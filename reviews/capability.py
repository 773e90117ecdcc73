"""What a channel can do and how far it reaches, as its adapter declares it and its rows say."""

from dataclasses import dataclass
from typing import Any

from delivery.channels.contract import Declaration, Window
from delivery.channels.registry import adapter_class, adapter_for
from delivery.errors import UnknownAdapterError
from delivery.policy import Complaint, complaints, longest_retry_s
from ledgers.models import Channel


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope that a channel needs."""

    name: str
    granted: bool


@dataclass(frozen=True, slots=True)
class Capability:
    """A channel with its declaration; `declared` is None for an adapter that is not installed."""

    channel: Channel
    declared: Declaration | None
    complaints: tuple[Complaint, ...]

    @property
    def broken(self) -> bool:
        """Nothing may be sent like this; other complaints are warnings."""
        return any(one.fatal for one in self.complaints)

    @property
    def drawable(self) -> bool:
        """Its schedule is one, and its adapter can be asked."""
        return self.declared is not None and not any(
            one.id in {"delivery.E011", "delivery.E013"} for one in self.complaints
        )

    @property
    def window(self) -> Window:
        return self.declared.window if self.declared else Window()

    @property
    def window_words(self) -> str:
        """An undocumented window is worded so: it protects nothing."""
        if self.declared is None or self.declared.key is None:
            return "no key is honoured: a second submission is a second message"
        if self.window.seconds <= 0:
            return "undocumented: counts as none"
        return ""

    @property
    def longest_s(self) -> float:
        """From the first attempt to the last, at most."""
        return longest_retry_s(self.channel.retry_schedule, self.channel.max_attempts)

    @property
    def room_s(self) -> float:
        """How long the window lets one try with the same key."""
        return max(0.0, self.window.seconds - self.channel.deadline_s - self.channel.margin_s)

    @property
    def scopes(self) -> tuple[Scope, ...]:
        granted = set(self.channel.credential.scopes)
        return tuple(Scope(name, name in granted) for name in self.channel.scopes_required)

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(scope.name for scope in self.scopes if not scope.granted)

    @property
    def facts(self) -> list[tuple[str, Any]]:
        """The declaration, in the words of the contract."""
        d = self.declared
        if d is None:
            return [("adapter", f"{self.channel.adapter}: not installed here")]
        return [
            ("idempotency key", d.key.place if d.key else "none is honoured"),
            ("honoured within", "nothing" if d.key_scope == "none" else f"one {d.key_scope}"),
            ("a duplicate is", d.on_duplicate),
            ("same key, other body", d.on_mismatch),
            ("while one is in flight", d.on_in_flight),
            ("can be looked up", _looking(d)),
            ("recognizer goes into", ", ".join(d.recognizer_places) or "nothing"),
            ("refusals", d.refusals),
            ("a rate limit proves rejection", "yes" if d.rate_limit_proves_rejection else "no"),
            (
                "an id of another message",
                "is no acceptance" if d.ids_are_unique else "is not noticed",
            ),
            ("shows a message after", f"{d.processing_s:g} s"),
            ("scopes can be read back", "no" if d.introspection == "none" else d.introspection),
            ("how it was met", d.met),
        ]


def _looking(declared: Declaration) -> str:
    ways = ["by key"] if declared.look_up_by_key else []
    ways += ["by the provider's id"] if declared.look_up_by_id else []
    if declared.surface:
        proof = "complete" if declared.surface.complete else "incomplete: proves no absence"
        ways.append(f"by scanning {declared.surface.name} ({proof})")
    return ", ".join(ways) or "no: nobody but a person can tell"


def capability(channel: Channel) -> Capability:
    """What this channel can do. Asks nobody: an adapter declares without I/O."""
    try:
        adapter_class(channel.adapter)
        declared = adapter_for(channel).declare() if isinstance(channel.settings, dict) else None
    except UnknownAdapterError:
        declared = None
    return Capability(channel, declared, tuple(complaints(channel)))
