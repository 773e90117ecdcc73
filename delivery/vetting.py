"""Vet what an adapter hands back, before it is kept: right types, sane lengths, no secret.

It may come from a stranger's function, or repeat a stranger's answer. What cannot be used as it is
becomes the value that proves nothing, so that it is kept, counted and shown to a person.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from delivery.channels.contract import Finding, Secret
from delivery.channels.redacting import without_secrets
from delivery.errors import SecretError
from delivery.outcomes import (
    Accepted,
    Ambiguous,
    Deferred,
    InFlight,
    NotSent,
    Outcome,
    Refused,
    Unauthorised,
)
from ledgers.canonical import storable

METHODS = ("key_lookup", "id_lookup", "surface_scan")
VERDICTS = ("found", "found_many", "absent", "inconclusive")
MAX_ID = 300  # characters, as the ledger keeps it; half an id would be another one
MAX_PAGES = 2**31 - 1
YEARS = range(1970, 9000)  # what every zone, the database and Python can hold and compare

_KINDS = (Accepted, Refused, Unauthorised, Deferred, NotSent, InFlight, Ambiguous)
_TEXTS = ("why", "searched", "response", "provider_message_id")
_FLAGS = ("permanent", "replayed", "tried", "mismatch")


def vetted_outcome(said: object, secret: Secret) -> Outcome:
    """The outcome as it may be kept; `Ambiguous` where it is none.

    Args:
        said: what `Adapter.submit` returned.
        secret: reads the channel's secret, which is done only where there is text to check.
    """
    outcome: Any = said
    if type(said) not in _KINDS:
        return Ambiguous(f"the adapter returned a {type(said).__name__}, which is no outcome")
    if wrong := "; ".join(_wrong_fields(said, dict.fromkeys(_FLAGS, bool))):
        return Ambiguous(f"the {type(said).__name__} that came back cannot be used: {wrong}")
    if isinstance(said, Deferred | InFlight | Ambiguous):
        outcome = replace(said, retry_after_s=_seconds(said.retry_after_s))
    if isinstance(said, Unauthorised):
        outcome = replace(said, needed=_scopes(said.needed), granted=_scopes(said.granted))
    fit: Outcome = _fit(outcome, secret)
    return fit


def vetted_finding(said: object, secret: Secret) -> Finding:
    """The finding as it may be kept; an inconclusive one where it is none.

    Args:
        said: what `Adapter.look_up` yielded.
        secret: reads the channel's secret, which is done only where there is text to check.
    """
    finding: Any = said
    if wrong := "; ".join(_wrong_finding(finding)):
        return nothing_found(f"what the search came to cannot be used: {wrong}")
    fit: Finding = _fit(finding, secret)
    return fit


def nothing_found(why: str) -> Finding:
    """The finding of a search that came to nothing."""
    return Finding(method="surface_scan", verdict="inconclusive", searched="", why=storable(why))


def _wrong_finding(given: object) -> Iterator[str]:
    if type(given) is not Finding:
        yield f"it is a {type(given).__name__}, not a Finding"
        return
    said: Any = given  # its fields are a stranger's, whatever they are declared to be
    yield from _not_one_of("method", said.method, METHODS)
    yield from _not_one_of("verdict", said.verdict, VERDICTS)
    yield from _wrong_fields(said, {"pages": int})
    if type(said.pages) is int and not 0 <= said.pages <= MAX_PAGES:
        yield f"pages must be from 0 to {MAX_PAGES}"
    if isinstance(said.provider_message_id, str) and len(said.provider_message_id) > MAX_ID:
        yield f"provider_message_id must have at most {MAX_ID} characters"
    since = said.covered_from
    is_moment = isinstance(since, datetime) and since.utcoffset() is not None
    if since is not None and not (is_moment and since.year in YEARS):
        yield "covered_from must be a moment with its zone, or None"


def _not_one_of(name: str, value: object, right: Sequence[str]) -> Iterator[str]:
    if type(value) is not str or value not in right:
        shown = repr(value[:50]) if type(value) is str else f"a {type(value).__name__}"
        yield f"{name} is {shown}, must be one of {', '.join(right)}"


def _wrong_fields(said: object, kinds: dict[str, type]) -> Iterator[str]:
    """Fields whose type is not the declared one; texts must be text."""
    for name, kind in {**dict.fromkeys(_TEXTS, str), **kinds}.items():
        value = getattr(said, name, None)
        is_right = isinstance(value, str) if kind is str else type(value) is kind
        if hasattr(said, name) and not is_right:
            yield f"{name} is a {type(value).__name__}, must be {kind.__name__}"


def _seconds(said: object) -> float | None:
    """A wait that a sender named, if it is one."""
    is_number = isinstance(said, int | float) and not isinstance(said, bool)
    if not is_number or not 0 <= said <= _LONGEST_S:  # type: ignore[operator]
        return None
    return float(said)  # type: ignore[arg-type]


_LONGEST_S = 1e9


def _scopes(said: object) -> tuple[str, ...]:
    """Names of scopes, as far as they are some: plain words, not too many."""
    given = said if isinstance(said, tuple | list) else ()
    names = [storable(one)[:80] for one in given if isinstance(one, str) and one.strip()]
    return tuple(names[:50])


def _fit(said: Any, secret: Secret) -> Any:
    """With its texts cut to what is kept, and without the secret."""
    texts = {name: storable(getattr(said, name)) for name in _TEXTS if hasattr(said, name)}
    hidden = _read(secret) if any(texts.values()) else ""
    if hidden:
        texts = {
            name: without_secrets(text, hidden, cut=name != "provider_message_id")
            for name, text in texts.items()
        }
    return replace(said, **texts)


def _read(secret: Secret) -> str:
    try:
        return secret()
    except SecretError:
        return ""  # there is none to be found in the text
