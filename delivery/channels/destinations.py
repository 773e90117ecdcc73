"""Destinations that are none: what a program writes where it did not know whom to write to."""

import re

from delivery.errors import BadDestinationError

MAX_LENGTH = 1000  # characters

# A value that was missing and became text: wrong in every place, also as a part of a destination.
MISSING = frozenset({"", "none", "null", "nil", "nan", "undefined", "n/a", "tbd", "todo"})

# Each was left in a roster by an agent: a role instead of a person, a missing value turned into
# text, the name of a mechanism instead of a place.
PLACEHOLDERS = MISSING | {
    "-", "*", "?", "unknown", "na", "user", "users", "assistant", "agent", "system", "recipient",
    "destination", "channel", "room", "placeholder", "heartbeat", "self", "me", "default",
}  # fmt: skip


# A template that nobody filled in: {user}, {{ chat_id }}, ${USER}, $USER, <chat-id>, %s.
_UNFILLED = re.compile(r"\$?\{+[^{}]*\}+|<[^<>]*>|\$\w+|%\w")


def is_placeholder(destination: str) -> bool:
    """Whether this stands where a destination was to be filled in."""
    named = destination.strip()
    return named.lower() in PLACEHOLDERS or _UNFILLED.fullmatch(named) is not None


def check_destination(destination: str, right: str) -> str:
    """The destination without white space around it, if it can be one.

    Args:
        destination: as the agent gave it.
        right: what a right one looks like on this channel.

    Raises:
        BadDestinationError: if it is empty, a placeholder, too long, or has characters that
            nobody can see.
    """
    named = destination.strip()
    if is_placeholder(named):
        raise BadDestinationError("destination", f"{destination!r} is only a placeholder", right)
    if len(named) > MAX_LENGTH:
        raise BadDestinationError("destination", f"has {len(named)} characters", right)
    if not named.isprintable():
        raise BadDestinationError("destination", f"{named!r} has an unprintable character", right)
    return named


def check_pattern(destination: str, pattern: str, right: str) -> str:
    """The destination, if it has this form.

    Args:
        destination: as it is to be kept.
        pattern: a regular expression for all of it.
        right: what a right one looks like.

    Raises:
        BadDestinationError: if it has not, or is no destination at all.
    """
    named = check_destination(destination, right)
    if not re.fullmatch(pattern, named):
        raise BadDestinationError("destination", f"{named!r} has another form", right)
    return named
