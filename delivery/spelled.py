"""A recording written as JSON, for agents that only have a shell: the Python call, spelled out."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from delivery.errors import InvalidInputError
from delivery.roster import Message
from ledgers.canonical import Json

REQUIRED = ("run_id", "agent", "step_id")
KEYS = (
    *REQUIRED, "trigger_key", "input", "version", "result", "result_ref", "messages", "announces",
    "end_run",
)  # fmt: skip
MESSAGE_REQUIRED = ("name", "channel", "to", "content")
MESSAGE_KEYS = (*MESSAGE_REQUIRED, "not_before", "not_after")
# Python refuses to read longer ones, without saying where; ours are refused by field.
LONGEST_WHOLE = 40  # digits
MOMENT = "a moment with its zone in ISO 8601, such as 2026-12-01T08:00:00+00:00"


@dataclass(frozen=True, slots=True)
class Recording:
    """One completed step and what it owes. Names and values are checked when it is recorded."""

    run_id: str
    agent: str
    step_id: str
    trigger_key: str | None = None
    input: Json = None
    version: int = 1
    result: Json = None
    result_ref: str = ""
    messages: tuple[Message, ...] = ()
    announces: tuple[str, ...] = field(default=())
    end_run: bool = True


def read_recording(text: str) -> Recording:
    """The recording in a JSON text.

    Raises:
        InvalidInputError: naming the field and what would be right.
    """
    said = _object(_parsed(text), "the input", KEYS, REQUIRED)
    fields = dict(said)
    fields["messages"] = tuple(
        _message(one, f"messages[{index}]")
        for index, one in enumerate(_list(said, "messages", "a list of messages"))
    )
    fields["announces"] = tuple(_texts(said, "announces"))
    if not isinstance(said.get("end_run", True), bool):
        raise InvalidInputError("end_run", f"is {_short(said['end_run'])}", "true or false")
    if not isinstance(said.get("result_ref", ""), str):
        raise InvalidInputError("result_ref", f"is {_short(said['result_ref'])}", "text")
    return Recording(**fields)


def _parsed(text: str) -> Json:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats, parse_int=capped_whole)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InvalidInputError(
            "the input", f"is not JSON at {where}: {error.msg}", "one JSON object"
        ) from None
    except RecursionError:
        raise InvalidInputError("the input", "is nested too deeply", "at most 64 levels") from None


def capped_whole(digits: str) -> int:
    """The number; of one that is far too long only as many digits as make it too large."""
    return int(digits[:LONGEST_WHOLE])


def _without_repeats(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
    """JSON lets a key come twice, and readers silently keep one of them: a lost roster."""
    said = dict(pairs)
    if len(said) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InvalidInputError(twice, "is written twice in one object", "each key once")
    return said


def _message(value: Json, where: str) -> Message:
    said = _object(value, where, MESSAGE_KEYS, MESSAGE_REQUIRED)
    times = {name: _moment(said.get(name), f"{where}.{name}") for name in MESSAGE_KEYS[-2:]}
    return Message(**said | times)


def _object(
    value: Json, where: str, keys: Sequence[str], required: Sequence[str]
) -> dict[str, Json]:
    if not isinstance(value, dict):
        right = "an object with " + ", ".join(required)
        raise InvalidInputError(where, f"is {_short(value)}", right)
    prefix = "" if where == "the input" else f"{where}."
    for key in value:
        if key not in keys:
            raise InvalidInputError(f"{prefix}{key}", "is not known", "one of: " + ", ".join(keys))
    for key in required:
        if key not in value:
            raise InvalidInputError(
                f"{prefix}{key}", "is missing", "a value for it: it has no default"
            )
    return value


def _list(said: dict[str, Json], name: str, right: str) -> list[Json]:
    value = said.get(name, [])
    if not isinstance(value, list):
        raise InvalidInputError(name, f"is {_short(value)}", right)
    return value


def _texts(said: dict[str, Json], name: str) -> list[str]:
    names = _list(said, name, "a list of message names")
    for index, one in enumerate(names):
        if not isinstance(one, str):
            raise InvalidInputError(
                f"{name}[{index}]", f"is {_short(one)}", "the name of a message"
            )
    return names


def _moment(value: Json, where: str) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InvalidInputError(where, f"is {_short(value)}", MOMENT) from None
    if moment.tzinfo is None:
        raise InvalidInputError(where, f"is {value!r}, without a zone", MOMENT)
    return moment


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
