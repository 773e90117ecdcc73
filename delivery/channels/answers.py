"""From an HTTP answer to an outcome: which statuses prove what, as each channel declares it.

Statuses that nothing is declared for are ambiguous. So are, always, 408, 425 and every 5xx: real
proxies answered 502 and 504 both after the application had acted and without it (measured).
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Literal

from requests import Response

from delivery.channels.http import Failure
from delivery.channels.reading import PartialAnswer
from delivery.outcomes import (
    Accepted,
    Ambiguous,
    Deferred,
    InFlight,
    Outcome,
    Refused,
    Unauthorised,
)

MAX_KEPT = 4096  # characters of an answer that are kept as evidence
MAX_RETRY_AFTER_S = 7 * 86_400.0
REFUSALS = (400, 401, 403, 404, 405, 410, 413, 415, 422)
_TELLING = (
    "Content-Type",
    "Retry-After",
    "Location",
    "Idempotent-Replayed",
    "Server",
    "Via",
    "Date",
)

Conflict = Literal["ambiguous", "in_flight", "mismatch", "accepted"]
Redirect = Literal["ambiguous", "refused", "accepted"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a channel reads its recipient's answers.

    Args:
        refusals: the statuses that prove that nothing was accepted, and never will be.
        conflict: what a 409 means: it can be an earlier acceptance (LINE), a submission still
            running (IETF draft), or a key used with another body (Resend).
        redirect: what an unfollowed 3xx means: failure (Standard Webhooks), acceptance (an HTML
            forum), or, undeclared, nothing certain.
        rate_limit: whether a 429 proves that nothing was accepted.
        id_field, id_header: where the provider's own id of the message stands.
    """

    refusals: frozenset[int] = frozenset(REFUSALS)
    conflict: Conflict = "ambiguous"
    redirect: Redirect = "ambiguous"
    rate_limit: Literal["deferred", "ambiguous"] = "deferred"
    id_field: str = "id"
    id_header: str = ""


def outcome_of(
    result: PartialAnswer | Failure, reading: Reading, secrets: Iterable[str] = ()
) -> Outcome:
    """The outcome of one exchange.

    Args:
        result: what `http.exchange` returned.
        reading: what the channel declares.
        secrets: texts that must not be kept, should the peer echo them.
    """
    if isinstance(result, Failure):
        return result.outcome
    shown, status = kept_text(result, secrets), result.status_code
    if 200 <= status < 300:
        return _accepted(result, reading, shown)
    if 300 <= status < 400:
        return _declared(reading.redirect, result, reading, shown)
    if status == HTTPStatus.CONFLICT:
        return _declared(reading.conflict, result, reading, shown)
    if status == HTTPStatus.TOO_MANY_REQUESTS and reading.rate_limit == "deferred":
        return Deferred("429: the recipient limits the rate", retry_after_s(result), shown)
    return _by_refusals(result, reading, shown)


def _by_refusals(result: PartialAnswer, reading: Reading, shown: str) -> Outcome:
    status = result.status_code
    if status == HTTPStatus.UNAUTHORIZED and status in reading.refusals:
        return Unauthorised("401: the credential is not accepted", response=shown)
    if status in reading.refusals and 400 <= status < 500:
        return Refused(f"{status}: declared as proof of non-acceptance", response=shown)
    why = f"{status} proves nothing about acceptance"
    return Ambiguous(why, response=shown, retry_after_s=retry_after_s(result))


def _accepted(result: PartialAnswer, reading: Reading, shown: str) -> Accepted:
    replayed = result.headers.get("Idempotent-Replayed", "").strip().lower() == "true"
    return Accepted(provider_id(result, reading), replayed, shown)


def _declared(
    meaning: Conflict | Redirect, result: PartialAnswer, reading: Reading, shown: str
) -> Outcome:
    status = result.status_code
    if meaning == "accepted":
        # A conflict can only be with an earlier submission, so that is what was accepted.
        earlier = status == HTTPStatus.CONFLICT
        return Accepted(provider_id(result, reading), replayed=earlier, response=shown)
    if meaning == "in_flight":
        why = f"{status}: an earlier submission is still being worked on"
        return InFlight(why, retry_after_s(result), shown)
    if meaning == "refused":
        return Refused(f"{status}: declared as proof of non-acceptance", response=shown)
    mismatch = meaning == "mismatch"
    why = (
        "this key came with another body before" if mismatch else "the channel declares no meaning"
    )
    asked_s = retry_after_s(result)
    return Ambiguous(f"{status}: {why}", mismatch, response=shown, retry_after_s=asked_s)


def provider_id(answer: Response, reading: Reading) -> str:
    """The provider's id of the message, if the answer names one, at most 200 characters."""
    named: Any = answer.headers.get(reading.id_header) if reading.id_header else None
    if named is None:
        body = json_of(answer)
        named = body.get(reading.id_field) if isinstance(body, dict) else None
    is_name = isinstance(named, str | int) and not isinstance(named, bool)
    return storable(str(named))[:200] if is_name else ""


def json_of(answer: Response) -> Any:
    """The body as JSON; None where it is none, whatever its declared type."""
    try:
        return json.loads(answer.content)
    except (ValueError, RecursionError):
        return None


def kept_text(answer: Response, secrets: Iterable[str] = ()) -> str:
    """What is kept of an answer: status, the telling header fields, the start of the body."""
    told = [f"{name}: {answer.headers[name]}" for name in _TELLING if name in answer.headers]
    first = f"{answer.status_code} {answer.reason}"
    body = answer.content[: MAX_KEPT * 4].decode("utf-8", "replace")
    return redacted("\n".join([first, *told, "", body]), secrets)[:MAX_KEPT]


def redacted(text: str, secrets: Iterable[str]) -> str:
    """The text without these secrets, and without what the database could not store."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[secret]")
    return storable(text)


def storable(text: str) -> str:
    """The text as the database can take it: JSON can bring NUL and lone surrogates from a peer.

    An answer that could not be stored would be an acceptance forgotten.
    """
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def retry_after_s(answer: Response) -> float | None:
    """Seconds the peer asked to wait: RFC 9110 10.2.3 (seconds or a date), and fractions too.

    None where it said nothing or nothing sensible; a past date is 0; a week at most, since
    after a week of silence it can well be asked again. Of several the longest, which suits all.
    """
    # The peer's own clock, where it tells it: a date means nothing on a clock that differs.
    now = _date(answer.headers.get("Date", "")) or datetime.now(UTC)
    each = _EACH_WAIT.split(answer.headers.get("Retry-After", ""))
    waits = [wait for said in each if (wait := _wait_s(said.strip(), now)) is not None]
    return max(waits, default=None)


# At a comma between two values, and not at the one within a date.
_EACH_WAIT = re.compile(r",\s*(?=[\d.]+\s*(?:,|$)|[A-Za-z]{3,9},)")


def _wait_s(said: str, now: datetime) -> float | None:
    if re.fullmatch(r"\d{1,300}(\.\d+)?", said):
        return min(float(said), MAX_RETRY_AFTER_S)
    until = _date(said)
    if until is None:
        return None
    return min(max((until - now).total_seconds(), 0.0), MAX_RETRY_AFTER_S)


def _date(said: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(said)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
