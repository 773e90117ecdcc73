"""The settings an adapter knows, as data: one table per adapter, for checks and console alike."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = Any


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a channel.

    Args:
        default: what holds where the operator says nothing.
        right: what a right value looks like, for complaints and forms.
        is_right: whether a value is one.
        about: what it does, in a sentence for the operator.
        required: whether the channel cannot work without it.
    """

    default: Json
    right: str
    is_right: Callable[[Json], bool]
    about: str
    required: bool = False


Settings = Mapping[str, Setting]


def flag(about: str, *, default: bool = False) -> Setting:
    return Setting(default, "true or false", lambda value: isinstance(value, bool), about)


def number(
    about: str, *, default: float, least: float = 0.0, most: float = 31_536_000.0
) -> Setting:
    """A number within limits; whatever unit `about` says."""

    def is_right(value: Json) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and least <= value <= most

    return Setting(default, f"a number from {least:g} to {most:g}", is_right, about)


def budget() -> Setting:
    """How often a provider may be asked; the same in every adapter that can ask."""
    return number(
        "Questions a minute when looking for what is unknown, if fewer than its provider takes;"
        " 0: as many as that.",
        default=0,
        most=100_000.0,
    )


def text(
    about: str,
    *,
    default: str = "",
    right: str = "text",
    is_right: Callable[[str], bool] = bool,
    required: bool = False,
) -> Setting:
    """Text; empty is right wherever it is the default and nothing is required."""

    def fits(value: Json) -> bool:
        if not isinstance(value, str):
            return False
        return (value == default and not required) or bool(is_right(value))

    return Setting(default, right, fits, about, required)


def choice(about: str, *choices: str) -> Setting:
    """One of several words; the first is the default."""
    return Setting(
        choices[0], "one of " + ", ".join(choices), lambda value: value in choices, about
    )


def is_plain(value: str) -> bool:
    """Whether this is a name without spaces or quotes, in printable ASCII."""
    return bool(value) and value.isascii() and value.isprintable() and not set(' "\\') & set(value)


def matches(pattern: str) -> Callable[[str], bool]:
    """Whether all of a text has this form."""
    return lambda value: re.fullmatch(pattern, value) is not None


def is_line(value: str) -> bool:
    """Whether this is one line that says something, of at most 500 characters."""
    return bool(value.strip()) and value.isprintable() and len(value) <= 500


def statuses(about: str, *default: int) -> Setting:
    """A list of HTTP statuses from 400 to 499."""

    def is_right(value: Json) -> bool:
        return isinstance(value, list) and all(
            isinstance(one, int) and 400 <= one < 500 for one in value
        )

    return Setting(list(default), "a list of statuses from 400 to 499", is_right, about)


def complaints(known: Settings, given: Mapping[str, Json]) -> list[str]:
    """What is wrong with a channel's settings, each naming the field and what would be right."""
    unknown = [
        f"{name}: no such setting; known are {', '.join(sorted(known)) or 'none'}"
        for name in given
        if name not in known
    ]
    wrong = [
        f"{name}: is {given[name]!r}, must be {setting.right}"
        for name, setting in known.items()
        if name in given and not setting.is_right(given[name])
    ]
    missing = [
        f"{name}: is missing, must be {setting.right}"
        for name, setting in known.items()
        if setting.required and name not in given
    ]
    return unknown + wrong + missing
