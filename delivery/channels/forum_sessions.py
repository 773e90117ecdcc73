"""Signed in to a forum: kept per process, since a forum takes only a few sign-ins in a while."""

import re
import threading
from dataclasses import dataclass
from typing import NamedTuple

from delivery.channels.reading import PartialAnswer
from delivery.timing import boottime

KEPT_S = 3600.0


class Account(NamedTuple):
    """Whose session it is: where, who, and by which password (as a fingerprint)."""

    home: str
    user: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Session:
    """What proves to the forum who asks. The token stands in a cookie and in a header."""

    id: str
    csrf: str
    until: float

    def headers(self, home: str) -> dict[str, str]:
        return {
            **csrf_headers(home, self.csrf),
            "Cookie": f"csrftoken={self.csrf}; sessionid={self.id}",
        }


class Sessions:
    """All that this process has; any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[Account, Session] = {}

    def get(self, account: Account) -> Session | None:
        with self._lock:
            session = self._kept.get(account)
        return session if session is not None and session.until > boottime() else None

    def put(self, account: Account, session_id: str, csrf: str) -> Session:
        session = Session(session_id, csrf, boottime() + KEPT_S)
        with self._lock:
            self._kept[account] = session
        return session

    def drop(self, account: Account) -> None:
        with self._lock:
            self._kept.pop(account, None)


def csrf_headers(home: str, token: str) -> dict[str, str]:
    """Who asks from where, as the forum's protection against foreign forms wants it."""
    return {
        "X-CSRFToken": token,
        "Referer": f"{home}/",
        "Origin": home,
        "Cookie": f"csrftoken={token}",
    }


def cookie(answer: PartialAnswer, name: str) -> str:
    """The value that an answer gives a cookie, or an empty text."""
    found = re.search(rf"(?:^|, ){name}=([A-Za-z0-9]+)", answer.headers.get("Set-Cookie", ""))
    return found[1] if found else ""


sessions = Sessions()
