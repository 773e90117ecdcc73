"""What is wrong with a channel's configuration: asked when it is saved, and again at start-up."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from delivery.authority import allowed_by
from delivery.channels.registry import adapter_class, adapter_for
from delivery.errors import BadContentError, BadDestinationError, UnknownAdapterError
from delivery.silence import PROBE_TEXT
from delivery.timing import JITTER
from ledgers.models import Channel
from ledgers.outbox import LONGEST_LEASE_S

LEAST_S = {"grace_s": 1, "period_s": 10, "expected_every_s": 0, "probe_every_s": 60}
LONGEST_PAUSE_S = 31_536_000.0  # a year; much more would be no moment on any clock


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that is wrong. `fatal`: nothing may be sent like this."""

    id: str
    field: str
    text: str
    hint: str
    fatal: bool = True


def complaints(channel: Channel) -> list[Complaint]:
    """Everything that is wrong with a channel, saved or not."""
    found = [
        *_adapter(channel),
        *_lease(channel),
        *_schedules(channel),
        *_rate(channel),
        *_watched(channel),
    ]
    if not found:
        found.extend([*_against_declaration(channel), *_probed(channel)])
    return found


def objections(channel: Channel) -> dict[str, list[str]]:
    """Why a channel must not be saved like this, by field."""
    found: dict[str, list[str]] = {}
    for complaint in complaints(channel):
        if complaint.fatal:
            found.setdefault(complaint.field, []).append(f"{complaint.text}. {complaint.hint}")
    return found


def unsound(channel: Channel) -> list[Complaint]:
    """What makes it impossible to send safely at all; a schedule is clipped at run time instead."""
    # An unknown adapter is reported by whoever looks for it.
    adapter = [c for c in _adapter(channel) if c.field != "adapter"]
    return [*adapter, *_lease(channel), *_schedules(channel)]


def _adapter(channel: Channel) -> Iterator[Complaint]:
    try:
        kind = adapter_class(channel.adapter)
    except UnknownAdapterError as error:
        yield Complaint("delivery.E010", "adapter", str(error), "Name one of the known adapters.")
        return
    if not isinstance(channel.settings, dict):
        yield Complaint("delivery.E011", "settings", "is no object", 'Write {"name": value, …}.')
        return
    for text in kind.check_settings(channel.settings):
        yield Complaint("delivery.E011", "settings", text, "Correct the adapter's settings.")


def _lease(channel: Channel) -> Iterator[Complaint]:
    for field in ("deadline_s", "margin_s", "lease_s"):
        seconds = getattr(channel, field)
        if not 0 <= seconds <= LONGEST_LEASE_S:  # NaN is not
            hint = f"Write seconds, from 0 to {LONGEST_LEASE_S} (a day)."
            yield Complaint("delivery.E012", field, f"is {seconds:g} s", hint)
            return
    least = channel.deadline_s + channel.margin_s
    if channel.lease_s <= least:
        yield Complaint(
            "delivery.E012",
            "lease_s",
            f"the lease of {channel.lease_s:g} s does not outlive the call's deadline and margin"
            f" ({channel.deadline_s:g} s + {channel.margin_s:g} s)",
            f"Set it above {least:g} s, or shorten the deadline: a call that outlives its lease"
            " may be made twice.",
        )


def _rate(channel: Channel) -> Iterator[Complaint]:
    if not 0 <= channel.rate_per_s < math.inf:  # NaN is not
        yield Complaint(
            "delivery.E016",
            "rate_per_s",
            f"is {channel.rate_per_s:g}",
            "Write submissions per second; 0 for no limit.",
        )


def _watched(channel: Channel) -> Iterator[Complaint]:
    """When the watch complains: a time that is none would be an alarm that never comes."""
    for field, least in LEAST_S.items():
        seconds = getattr(channel, field)
        if not least <= seconds <= 400 * LONGEST_LEASE_S:  # NaN is not
            hint = f"Write seconds, from {least} on."
            yield Complaint("delivery.E017", field, f"is {seconds:g} s", hint)
    if channel.period_s < channel.grace_s:
        yield Complaint(
            "delivery.E017",
            "period_s",
            f"the usual interval of {channel.period_s:g} s is shorter than the grace of"
            f" {channel.grace_s:g} s",
            "Nothing can come through before it may be due: set it above the grace.",
        )


def _probed(channel: Channel) -> Iterator[Complaint]:
    """A probe that could not be recorded would be an alarm about nothing."""
    if not channel.probe_to:
        return
    adapter, hint = adapter_for(channel), "Name a destination of this channel, or leave it empty."
    try:
        there = adapter.normalise(channel.probe_to)
        adapter.check_content(PROBE_TEXT)
    except (BadDestinationError, BadContentError) as error:
        yield Complaint("delivery.E018", "probe_to", str(error), hint)
        return
    if allowed_by(there, channel.credential.destination_rules) is None:
        text = "no destination rule of its credential allows it"
        yield Complaint("delivery.E018", "probe_to", text, hint)


def _schedules(channel: Channel) -> Iterator[Complaint]:
    for field in ("retry_schedule", "look_up_schedule"):
        value: Any = getattr(channel, field)
        empty_is_right = field == "look_up_schedule"
        if not _is_schedule(value) or (not value and not empty_is_right):
            yield Complaint(
                "delivery.E013",
                field,
                f"is {value!r}",
                "Write a list of seconds, each from 0 to a year, such as [1, 5, 30].",
            )


def _is_schedule(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, int | float)
        and not isinstance(item, bool)
        and 0 <= item <= LONGEST_PAUSE_S
        for item in value
    )


def _against_declaration(channel: Channel) -> Iterator[Complaint]:
    declaration = adapter_for(channel).declare()
    window_s = declaration.window.seconds
    longest = longest_retry_s(channel.retry_schedule, channel.max_attempts)
    room = window_s - channel.deadline_s - channel.margin_s
    if declaration.key is not None and window_s > 0 and longest > room:
        yield Complaint(
            "delivery.E014",
            "retry_schedule",
            f"{channel.max_attempts} attempts take up to {longest:g} s, but the provider's key"
            f" protects only {room:g} s (window {window_s:g} s, less deadline and margin)",
            "Shorten the schedule or allow fewer attempts: past the window the same key is a new"
            " send.",
        )
    if channel.deadline_s < declaration.deadline_s:
        yield Complaint(
            "delivery.W015",
            "deadline_s",
            f"the deadline of {channel.deadline_s:g} s is shorter than the"
            f" {declaration.deadline_s:g} s that the provider may take to answer",
            f"Allow {declaration.deadline_s:g} s, or answers that come later are lost and their"
            " deliveries become unknown.",
            fatal=False,
        )


def longest_retry_s(schedule: Sequence[float], max_attempts: int) -> float:
    """The most seconds from the first attempt to the last, jitter included; calls take no time."""
    pauses = [schedule[min(n, len(schedule) - 1)] for n in range(max_attempts - 1)]
    return sum(pauses) * (1 + JITTER)
