"""What a decision saw and what it answered, as compact JSON, and back again.

Kept with the event that the decision led to, so that it can be recomputed years later. Fields that
have their default value are left out, so the defaults of `delivery.facts` never change; moments
are in ISO 8601 with zone.
"""

import json
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Any

from delivery.facts import AttemptFact, EvidenceFact, Facts, Policy
from delivery.next_move import NextMove
from ledgers.canonical import Json

_MOMENTS = frozenset(
    field.name
    for kind in (Facts, AttemptFact, EvidenceFact)
    for field in fields(kind)
    if field.type in {datetime, datetime | None}
)


def dump(facts: Facts, now: datetime, move: NextMove) -> str:
    """The facts and the moment of a decision, and its answer, as JSON text."""
    value = {"now": now.isoformat(), "facts": _plain(facts), "move": answer(move)}
    return json.dumps(value, separators=(",", ":"))


def answer(move: NextMove) -> dict[str, Json]:
    """What counts of an answer: all but its words, which may be put better one day."""
    kept = {"kind": move.kind, "rule": move.rule, "status": move.status,
            "until": move.until, "before": move.before}  # fmt: skip
    return {name: _plain(item) for name, item in kept.items() if item is not None}


def load_answer(text: str) -> dict[str, Json]:
    """The answer that `dump` wrote, in the form of `answer`.

    Raises:
        ValueError: the text was not written by `dump`.
    """
    return dict(_value(text, "move"))


def load(text: str) -> tuple[Facts, datetime]:
    """The facts and the moment that `dump` wrote.

    Raises:
        ValueError: the text was not written by `dump`.
    """
    facts = _moments(_value(text, "facts"))
    facts["attempts"] = tuple(AttemptFact(**_moments(a)) for a in facts.get("attempts", ()))
    facts["evidence"] = tuple(EvidenceFact(**_moments(e)) for e in facts.get("evidence", ()))
    facts["held"] = tuple(facts.get("held", ()))
    policy: dict[str, Any] = {
        name: tuple(item) if isinstance(item, list) else item
        for name, item in facts.get("policy", {}).items()
    }
    facts["policy"] = Policy(**policy)
    return Facts(**facts), datetime.fromisoformat(_value(text, "now"))


def _value(text: str, name: str) -> Any:
    value = json.loads(text)
    if not isinstance(value, dict) or name not in value:
        raise ValueError(f"no {name} in {text[:100]!r}")
    return value[name]


def _plain(value: Any) -> Json:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Facts | AttemptFact | EvidenceFact | Policy):
        return {
            f.name: _plain(item)
            for f in fields(value)
            if (item := getattr(value, f.name)) != f.default or f.default is MISSING
        }
    return value


def _moments(value: dict[str, Any]) -> dict[str, Any]:
    return {
        name: datetime.fromisoformat(item) if name in _MOMENTS and item is not None else item
        for name, item in value.items()
    }
