"""Which changes of a channel or credential take a second person, and why. Pure.

A change widens where it takes protection away (a key is trusted for longer, absence is believed
more easily, an answer proves more), lets more out (a rate, a network, a machine's own decision), or
gives authority (a secret, a scope, a destination). What only narrows is one person's, at once. What
is in no table below is taken to widen: a new setting of an adapter is careful until it is known.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from delivery.authority import covered_by

Json = Any
# Why the step from the first value to the second takes two people; empty where it does not.
Judge = Callable[[Json, Json], str]


def _always(why: str) -> Judge:
    return lambda _before, _after: why


def _free(_before: Json, _after: Json) -> str:
    return ""


def _raised(why: str) -> Judge:
    return lambda before, after: "" if _is_less(after, before) else why


def _lowered(why: str) -> Judge:
    return lambda before, after: "" if _is_less(before, after) else why


def _limit(why: str) -> Judge:
    """Of a limit, 0 is none."""
    return lambda before, after: "" if 0 < after < (before or float("inf")) else why


def _turned(on: bool, why: str) -> Judge:  # noqa: FBT001  a value of the row
    return lambda _before, after: why if after is on else ""


def _unless(narrowest: Json, why: str) -> Judge:
    return lambda _before, after: "" if after == narrowest else why


def _more(why: str) -> Judge:
    """Of a list: whether anything is in it that was not."""

    def judge(before: Json, after: Json) -> str:
        had = before if isinstance(before, list) else []
        return "" if all(one in had for one in after) else why

    return judge


def _reach(before: Json, after: Sequence[str]) -> str:
    had = [rule for rule in before if isinstance(rule, str)] if isinstance(before, list) else []
    wider = [rule for rule in after if not covered_by(rule, had)]
    return f"more can be reached: {', '.join(map(_told_apart, wider))}" if wider else ""


def _told_apart(rule: str) -> str:
    """A letter of another script may look just like the one that everybody reads."""
    return rule if rule.isascii() else f"{rule} (not all of it is ASCII: {ascii(rule)[1:-1]})"


def _is_less(one: Json, other: Json) -> bool:
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (one, other))
    return numbers and one < other


_ELSEWHERE = "messages go another way, and keys and searches may mean something else there"
_BELIEVED = "a search that finds nothing is believed more easily"
_PROOF = "an answer is taken for proof of more than it was"
_SLACK = "less time is kept between the end of a call and the next worker"

CHANNEL: Mapping[str, Judge] = {
    "slug": _free,  # refused by itself once it is part of identities
    "adapter": _always(_ELSEWHERE),
    "credential": _always("it sends with another authority"),
    "scopes_required": _always("it uses other scopes of its credential"),
    # What is tried on a schedule is proven not accepted, or protected by the key that holds.
    "retry_schedule": _free,
    "look_up_schedule": _free,
    "max_attempts": _free,
    "lease_s": _lowered(_SLACK),
    "margin_s": _lowered(_SLACK),
    "deadline_s": _raised(_SLACK),
    "concurrency": _limit("more may leave at once"),
    "rate_per_s": _limit("more may leave per second"),
    "resend_after_absent": _unless("ask", "a machine sends again without asking a person"),
    "requires_approval": _turned(on=False, why="tries go out without a person's approval"),
    # Alarms protect nothing that is sent; how late they come is one person's to say.
    "grace_s": _free,
    "period_s": _free,
    "expected_every_s": _free,
    "probe_to": _unless("", "a machine sends probes there by itself"),
    "probe_every_s": _lowered("a machine sends probes more often"),
    "for_testing": _turned(on=True, why="crash drills may send through it"),
}
SETTINGS: Mapping[str, Judge] = {
    "dedupe_window_s": _raised("a key is trusted to protect for longer"),
    "allow_private": _turned(on=True, why="private and loopback addresses may be called"),
    "allow_http": _turned(on=True, why="contents and secrets may travel unencrypted"),
    "look_up_authoritative": _turned(on=True, why=_BELIEVED),
    "surface_complete": _turned(on=True, why=_BELIEVED),
    "processing_s": _lowered(_BELIEVED),
    "refusals": _more(_PROOF),
    "conflict": _unless("ambiguous", _PROOF),
    "redirect": _unless("ambiguous", _PROOF),
    "rate_limit": _unless("ambiguous", _PROOF),
    "keep_connections": _free,
    "page_size": _free,
    "max_pages": _free,
}
CREDENTIAL: Mapping[str, Judge] = {
    "name": _always("the trail names it otherwise"),
    "secret_ref": _always("another secret is used"),
    "identity": _always("it is said to be another account"),
    "accept_secret": _turned(on=True, why="a secret that was replaced is trusted"),
    "scopes": _more("it is said to be allowed more"),
    "destination_rules": _reach,
}
_UNKNOWN = _always("what it protects is not known to be less than it was")
_TABLES = {"channel": CHANNEL, "credential": CREDENTIAL}


def widens(what: str, field: str, before: Json, after: Json) -> str:
    """Why this step takes two people, or nothing.

    Args:
        what: `channel` or `credential`.
        field: a column's name, or `settings.NAME` for a setting of the channel's adapter.
        before, after: its values; a setting's default where it is not set.
    """
    setting = field.removeprefix("settings.")
    table = _TABLES[what] if setting == field else SETTINGS
    return table.get(setting, _UNKNOWN)(before, after)
