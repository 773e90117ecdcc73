"""The database entry of the settings: the embedded server, or the one that DATABASE_URL names."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONNECTION_MAX_AGE_S = 600


@dataclass(frozen=True, slots=True)
class Limits:
    """How long one statement, and one pause inside a transaction, may last; in seconds.

    A process that is frozen inside a transaction keeps its row locks; the second limit is the
    fence that ends it.
    """

    statement_s: int
    idle_transaction_s: int


def embedded(folder: Path, limits: Limits, *, fsync: bool) -> dict[str, Any]:
    """The server that the project starts itself, in `folder`; `fsync` is off only in tests."""
    return {
        "ENGINE": "config.embedded",
        "NAME": "counterfoil",
        "MAIN_DATABASE": "counterfoil",
        "USER": "counterfoil",
        "DATA_FOLDER": folder,
        "FSYNC": fsync,
        **_common({}, limits),
    }


def from_url(parsed: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """A server that somebody else runs; `parsed` is what django-environ made of the URL."""
    options = dict(parsed.get("OPTIONS", {}))
    # `?host=/folder` lands among the options, where dbshell and other tools do not look.
    host = options.pop("host", parsed.get("HOST", ""))
    return {**parsed, "HOST": host, **_common(options, limits)}


def _common(options: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    return {
        "CONN_MAX_AGE": CONNECTION_MAX_AGE_S,
        "CONN_HEALTH_CHECKS": True,
        # No connection pool: it corrupts connections across forks and waits on a dead server.
        "OPTIONS": {**_session(limits), **_keepalives(), **options},
    }


def _session(limits: Limits) -> dict[str, str]:
    return {
        "application_name": "counterfoil",
        "options": (
            f"-c statement_timeout={limits.statement_s}s"
            f" -c idle_in_transaction_session_timeout={limits.idle_transaction_s}s"
        ),
    }


def _keepalives() -> dict[str, int]:
    """A peer that vanished without a word is noticed after 30 + 3 x 10 seconds.

    While something that was sent is not acknowledged there are no keepalives, and the kernel tries
    for about 15 minutes (tcp(7), tcp_retries2) unless it is told otherwise.
    """
    return {
        "connect_timeout": 10,
        "keepalives": 1,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 60_000,  # milliseconds
    }
