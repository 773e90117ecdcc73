"""Questions to a provider: one GET each, and what its answer is worth."""

import threading
from collections.abc import Mapping
from http import HTTPStatus
from typing import Literal

from delivery.channels.answers import Reading, json_of, kept_text, provider_id
from delivery.channels.contract import Finding
from delivery.channels.http import Call, Failure, exchange
from delivery.channels.reading import MAX_READ, PartialAnswer


def bearer(secret: str) -> dict[str, str]:
    """The header that carries a secret as a bearer token; none for an empty one.

    Raises:
        ValueError: if it has a character that no header can carry (the secret is not quoted).
    """
    if not secret:
        return {}
    if not (secret.isascii() and secret.isprintable()):
        raise ValueError("the credential's secret has a character that no header can carry")
    return {"Authorization": f"Bearer {secret}"}


class Asked(threading.local):
    """How many questions this thread has asked."""

    count = 0


asked = Asked()


class SilentJournal:
    """The journal of a question: a deadline and nothing to record, since nothing is submitted."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline

    def reached(self, phase: str) -> None:
        del phase

    def before_first_byte(self) -> None:
        """A question may always be asked."""

    def wrote(self, count: int) -> None:
        del count


def ask(
    url: str,
    deadline: float,
    headers: Mapping[str, str],
    *,
    allow_private: bool = False,
    ca_file: str = "",
    most: int = MAX_READ,
) -> PartialAnswer | str:
    """A whole answer, or why there is none. `deadline`: a moment on `boottime()`."""
    asked.count += 1
    call = Call("GET", url, headers, allow_private=allow_private, ca_file=ca_file, most=most)
    result = exchange(call, SilentJournal(deadline))
    if isinstance(result, Failure):
        return f"no answer: {getattr(result.outcome, 'why', '')}"
    return result if result.whole else f"the answer ({result.status_code}) broke off"


def found_or_absent(
    method: Literal["key_lookup", "id_lookup"],
    url: str,
    answer: PartialAnswer | str,
    *,
    authoritative: bool = True,
) -> Finding:
    """What a look-up's answer proves.

    200 with `{"found": true, "id": …}` is found. 404, or 200 with `{"found": false}`, is absent if
    the provider's index is authoritative for all messages it ever took. All else proves nothing.
    """
    searched = f"GET {url}"
    if isinstance(answer, str):
        return Finding(method, "inconclusive", searched, answer)
    said, shown = json_of(answer), kept_text(answer)
    found = said.get("found") if isinstance(said, dict) else None
    if answer.status_code == HTTPStatus.OK and found is True:
        message_id = provider_id(answer, Reading())
        return Finding(method, "found", searched, "", message_id, response=shown)
    denied = answer.status_code == HTTPStatus.OK and found is False
    if not denied and answer.status_code != HTTPStatus.NOT_FOUND:
        lacking = ' without "found": true or false' if answer.status_code == HTTPStatus.OK else ""
        why = f"answered {answer.status_code}{lacking}, which proves nothing"
        return Finding(method, "inconclusive", searched, why, response=shown)
    if not authoritative:
        why = "it knows of none, but is not declared to know of every message"
        return Finding(method, "inconclusive", searched, why, response=shown)
    return Finding(method, "absent", searched, response=shown)
