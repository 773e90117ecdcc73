"""What a decision saw, as compact JSON, and back again.

Kept with the event that the decision led to, so that it can be recomputed years later. Fields that
have their default value are left out; moments are in ISO 8601 with zone.
"""

import json
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Any

from delivery.facts import AttemptFact, EvidenceFact, Facts, Policy
from ledgers.canonical import Json

_MOMENTS = frozenset(
    {"opened_at", "closed_at", "lease_until", "taken_at", "covered_from", "key_first_used_at",
     "not_before", "not_after", "rewound_at", "decided_at"}
)  # fmt: skip


def dump(facts: Facts, now: datetime) -> str:
    """The facts and the moment of a decision as JSON text."""
    return json.dumps({"now": now.isoformat(), "facts": _plain(facts)}, separators=(",", ":"))


def load(text: str) -> tuple[Facts, datetime]:
    """The facts and the moment that `dump` wrote.

    Raises:
        ValueError: the text was not written by `dump`.
    """
    value = json.loads(text)
    facts = _moments(value["facts"])
    facts["attempts"] = tuple(AttemptFact(**_moments(a)) for a in facts.get("attempts", ()))
    facts["evidence"] = tuple(EvidenceFact(**_moments(e)) for e in facts.get("evidence", ()))
    facts["held"] = tuple(facts.get("held", ()))
    policy: dict[str, Any] = {
        name: tuple(item) if isinstance(item, list) else item
        for name, item in facts.get("policy", {}).items()
    }
    facts["policy"] = Policy(**policy)
    return Facts(**facts), datetime.fromisoformat(value["now"])


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
