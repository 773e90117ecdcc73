"""How the recipient treats one submission: does it act, and how does the call end.

A behaviour is written as a name (`"accept_and_reset"`), a status (`"502"`, `"502+effect"`), or
an object with the name under `do` and options beside it:

    {"do": "answer", "status": 503, "effect": true, "retry_after": "12", "after_s": 0.2}
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Ending = Literal["answer", "hang", "reset", "close", "wait", "cut", "drip"]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One way to treat a submission.

    `effect`: it is acted on (a duplicate that is recognised is not acted on again).
    `ending`: answer; hang for ever; reset (RST) or close (FIN) without a byte; wait for the
    named `signal`, then answer; cut the answer's body; drip one byte per `drip_s`.
    `names_last`: the answer names the message that was shown last at this destination.
    `after_s`: seconds before anything is decided, as a slow service would.
    """

    name: str
    effect: bool = False
    ending: Ending = "answer"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    signal: str = "go"
    after_s: float = 0.0
    drip_s: float = 0.05
    names_last: bool = False


def _accepting(name: str, **how: Any) -> Behaviour:
    return Behaviour(name, effect=True, **how)


PRESETS: dict[str, Behaviour] = {
    preset.name: preset
    for preset in (
        _accepting("accept"),
        _accepting("accept_and_hang", ending="hang"),
        _accepting("accept_and_reset", ending="reset"),
        _accepting("accept_and_close", ending="close"),
        _accepting("accept_and_wait", ending="wait"),
        _accepting("accept_and_garbage", body="<html>not the JSON you wanted"),
        _accepting("accept_and_cut", ending="cut"),
        _accepting("accept_and_drip", ending="drip"),
        _accepting("accept_and_redirect", status=307),
        Behaviour("answer"),
        Behaviour("name_another", names_last=True),
        Behaviour("hang", ending="hang"),
        Behaviour("reset", ending="reset"),
        Behaviour("close", ending="close"),
        Behaviour("drip", ending="drip", status=500),
        Behaviour("redirect", status=307),
        Behaviour("in_flight", status=409, body='{"error":"in_flight"}'),
        Behaviour("mismatch", status=409, body='{"error":"mismatch"}'),
        Behaviour("rate_limit", status=429, body='{"error":"rate_limit"}'),
        Behaviour("unavailable", status=503, body='{"error":"unavailable"}'),
        Behaviour("refuse", status=422, body='{"error":"refused"}'),
    )
}

_OPTIONS = frozenset({"effect", "status", "body", "signal", "after_s", "drip_s", "ending"})


def parse_behaviour(written: object) -> Behaviour:
    """The behaviour that was written as a name, a status or an object.

    Raises:
        ValueError: naming what is unknown and what is known.
    """
    if isinstance(written, str):
        return _named(written)
    if not isinstance(written, Mapping):
        raise ValueError(f"a behaviour is a name or an object, not {written!r}")  # noqa: TRY004
    base = _named(str(written.get("do", "accept")))
    unknown = set(written) - _OPTIONS - {"do", "retry_after", "headers"}
    if unknown:
        raise ValueError(f"unknown options {sorted(unknown)}; known are {sorted(_OPTIONS)}")
    options = {name: written[name] for name in _OPTIONS & set(written)}
    return replace(base, **options, headers=_headers(base, written))


def _named(name: str) -> Behaviour:
    if name in PRESETS:
        return PRESETS[name]
    status, _, effect = name.partition("+")
    if status.isdigit() and effect in ("", "effect"):
        return Behaviour(name, effect=bool(effect), status=int(status))
    raise ValueError(f"unknown behaviour {name!r}; known are {sorted(PRESETS)} and '502+effect'")


def _headers(base: Behaviour, written: Mapping[str, Any]) -> dict[str, str]:
    headers = {**base.headers, **written.get("headers", {})}
    if "retry_after" in written:
        headers["Retry-After"] = str(written["retry_after"])
    return headers
