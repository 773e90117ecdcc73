"""What a proposed change would make different, one line per field, and why it takes two people."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from delivery.channels.registry import ADAPTERS
from reviews.widening import widens

Json = Any
Values = Mapping[str, Json]
SETTING = "settings."


@dataclass(frozen=True, slots=True)
class Line:
    """One field. `added` and `gone`: of a list; `why`: why it takes two people, if it does."""

    field: str
    before: Json
    after: Json
    why: str
    unset: bool = False

    @property
    def label(self) -> str:
        return self.field.removeprefix(SETTING).replace("_", " ")

    @property
    def is_list(self) -> bool:
        """Things in no order, so that only what comes and goes is of interest."""
        return self.field in {"scopes", "scopes_required", "destination_rules"} and isinstance(
            self.before, list
        )

    @property
    def added(self) -> list[str]:
        return [_text(one) for one in self.after if one not in self.before]

    @property
    def gone(self) -> list[str]:
        return [_text(one) for one in self.before if one not in self.after]

    @property
    def before_text(self) -> str:
        return _text(self.before)

    @property
    def after_text(self) -> str:
        return _text(self.after) + (" (the default)" if self.unset else "")


def _text(value: Json) -> str:
    if value in ("", [], {}, None):
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def visible(text: str) -> str:
    """Characters that nobody can see, or that turn the others round, as their escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def differences(what: str, before: Values, after: Values) -> list[Line]:
    """The lines of a change.

    Args:
        what: `channel` or `credential`.
        before: all values of the row that can be changed.
        after: those that are to be different.
    """
    found = []
    for field, value in after.items():
        if field == "settings":
            found += _settings(before, {**before, **after})
        elif value != before[field]:
            why = widens(what, field, before[field], value)
            found.append(Line(field, before[field], value, why))
    return found


def _settings(before: Values, after: Values) -> list[Line]:
    """Setting by setting: what is not set counts as its default."""
    old, new = _dict(before["settings"]), _dict(after["settings"])
    defaults = _defaults(after["adapter"])
    lines = []
    for name in sorted(old.keys() | new.keys()):
        was, becomes = (values.get(name, defaults.get(name)) for values in (old, new))
        if was != becomes:
            why = widens("channel", SETTING + name, was, becomes)
            lines.append(Line(SETTING + name, was, becomes, why, unset=name not in new))
    return lines


def _defaults(adapter: str) -> Mapping[str, Json]:
    kind = ADAPTERS.get(adapter)
    return {name: setting.default for name, setting in kind.known.items()} if kind else {}


def _dict(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}
