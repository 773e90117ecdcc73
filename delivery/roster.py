"""What an agent wants sent, checked and brought into its one spelling. Nothing is written here.

Everything that could fail later, when only a worker is listening, fails now, in front of the agent,
and names the field.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from delivery.authority import allowed_by
from delivery.channels.contract import Adapter
from delivery.channels.declaration import Declaration
from delivery.channels.destinations import is_placeholder
from delivery.channels.registry import adapter_for
from delivery.errors import (
    BadContentError,
    BadDestinationError,
    InvalidInputError,
    UnknownAdapterError,
)
from ledgers.canonical import Json, canonical_json, check_name, check_text, sha256, shown
from ledgers.models import Channel
from ledgers.models.delivery import MAX_DESTINATION

# Moments that every zone, the database and Python can hold and compare.
YEARS = range(1970, 9000)


@dataclass(frozen=True, slots=True)
class Message:
    """One message that a step owes.

    Args:
        name: its purpose within the step, such as `digest` or `failure-notice`.
        channel: the slug of the channel it goes through.
        to: the destinations, one or many; each becomes a delivery of its own.
        content: what to send, as JSON; what it may look like depends on the channel's adapter.
        not_before: the moment (with zone) before which nothing is sent.
        not_after: the moment (with zone) after which nothing is sent any more.
    """

    name: str
    channel: str
    to: Sequence[str]
    content: Json
    not_before: datetime | None = None
    not_after: datetime | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A message that may be recorded. `destinations`: normalised, each once, in the given order."""

    name: str
    channel: Channel
    adapter: Adapter
    declaration: Declaration
    destinations: tuple[str, ...]
    payload: str
    payload_hash: str
    parts: tuple[Json, ...]
    not_before: datetime | None
    not_after: datetime | None


def prepare(messages: Sequence[Message]) -> list[Prepared]:
    """Check and normalise messages.

    Raises:
        InvalidInputError: naming the field (`messages[0].to[2]`) and what would be right.
        ledgers.errors.InvalidValueError: likewise, for what no part of the chain could carry.
    """
    _check_messages(messages)
    channels = _channels(messages)
    seen: set[tuple[str, str]] = set()
    prepared = []
    for index, message in enumerate(messages):
        field = f"messages[{index}]"
        check_name(message.name, f"{field}.name")
        place = (message.name, str(message.channel))
        if place in seen:
            raise InvalidInputError(
                f"{field}.name",
                f"{message.name!r} goes through {message.channel!r} twice",
                "one message of this name per channel, with all its destinations in `to`",
            )
        seen.add(place)
        prepared.append(_prepare(message, field, channels))
    return prepared


def _check_messages(messages: object) -> None:
    right = "a list of `Message`"
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        raise InvalidInputError("messages", f"is of type {type(messages).__name__}", right)
    for index, message in enumerate(messages):
        if not isinstance(message, Message):
            kind = type(message).__name__
            raise InvalidInputError(f"messages[{index}]", f"is of type {kind}", right)


def _channels(messages: Sequence[Message]) -> dict[str, Channel]:
    # No slug has a character that the database could not even be asked about.
    slugs = {str(m.channel) for m in messages if str(m.channel).isprintable()}
    rows = Channel.objects.select_related("credential").filter(slug__in=slugs)
    return {channel.slug: channel for channel in rows}


def _prepare(message: Message, field: str, channels: Mapping[str, Channel]) -> Prepared:
    channel = channels.get(str(message.channel))
    if channel is None:
        known = ", ".join(Channel.objects.values_list("slug", flat=True)[:20]) or "none yet"
        raise InvalidInputError(
            f"{field}.channel", f"no channel {message.channel!r}", f"one of: {known}"
        )
    adapter = _adapter(channel, field)
    payload = canonical_json(message.content, f"{field}.content")
    try:
        adapter.check_content(message.content)
        parts = tuple(adapter.split(message.content))
    except BadContentError as error:
        raise BadContentError(f"{field}.content", error.problem, error.right) from error
    _check_times(message, field)
    return Prepared(
        name=message.name,
        channel=channel,
        adapter=adapter,
        declaration=adapter.declare(),
        destinations=_destinations(message.to, f"{field}.to", channel, adapter),
        payload=payload,
        payload_hash=sha256(payload),
        parts=parts,
        not_before=message.not_before,
        not_after=message.not_after,
    )


def _adapter(channel: Channel, field: str) -> Adapter:
    try:
        return adapter_for(channel)
    except UnknownAdapterError as error:
        raise InvalidInputError(
            f"{field}.channel",
            f"{channel.slug!r} cannot send: {error}",
            "a channel whose adapter is installed",
        ) from error


def _check_times(message: Message, field: str) -> None:
    for name in ("not_before", "not_after"):
        value: Any = getattr(message, name)
        if value is None:
            continue
        if not isinstance(value, datetime) or value.tzinfo is None:
            raise InvalidInputError(
                f"{field}.{name}", f"is {value!r}", "a moment with its zone, such as in UTC"
            )
        if value.year not in YEARS:
            raise InvalidInputError(
                f"{field}.{name}", f"is in the year {value.year}", f"a year from {YEARS[0]} on"
            )
    if message.not_before and message.not_after and message.not_after <= message.not_before:
        raise InvalidInputError(
            f"{field}.not_after", "is not later than not_before", "a moment after not_before"
        )


def _destinations(to: object, field: str, channel: Channel, adapter: Adapter) -> tuple[str, ...]:
    if isinstance(to, str | bytes) or not isinstance(to, Sequence):
        raise InvalidInputError(field, f"is {to!r}", 'a list of destinations, such as ["…"]')
    if not to:
        raise InvalidInputError(field, "is empty", "at least one destination")
    return tuple(dict.fromkeys(_each_destination(to, field, channel, adapter)))


def _each_destination(
    to: Sequence[object], field: str, channel: Channel, adapter: Adapter
) -> Iterator[str]:
    rules = channel.credential.destination_rules
    for index, given in enumerate(to):
        name = f"{field}[{index}]"
        destination = _normalise(given, name, adapter)
        if allowed_by(destination, rules) is None:
            raise InvalidInputError(
                name,
                f"{destination!r} is outside what credential {channel.credential.name!r} may reach",
                "a destination that matches "
                + (" or ".join(map(repr, rules)) or "a rule; none is set"),
            )
        yield destination


def _normalise(given: object, field: str, adapter: Adapter) -> str:
    if not isinstance(given, str):
        raise BadDestinationError(field, f"is {shown(given)}, not text", "a real destination")
    if is_placeholder(given):
        raise BadDestinationError(field, f"is {shown(given)}, a placeholder", "a real destination")
    check_text(given, field)
    try:
        destination = adapter.normalise(given)
    except InvalidInputError as error:
        raise BadDestinationError(field, error.problem, error.right) from error
    if (
        not 0 < len(destination) <= MAX_DESTINATION
        or len(destination.encode()) > 2 * MAX_DESTINATION
    ):
        raise BadDestinationError(
            field, f"is {len(destination)} characters long", f"1 to {MAX_DESTINATION} characters"
        )
    return destination
