"""Three questions: does this process answer, may it be sent traffic, and are deliveries alive?

They are different on purpose. A probe that restarts a healthy process because deliveries are late
ends what is on the wire, and makes things worse: restart by `/healthz` alone.
"""

import logging

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse

from config.health.guard import TEXT
from delivery.timing import boottime
from delivery.watch.bounded import bounded
from delivery.watch.checks import Finding, State
from delivery.watch.rounds import Look, look_once
from ledgers.management.words import moment, plain

logger = logging.getLogger(__name__)
# Whoever asks waits no longer, also where the database is frozen.
LIMIT_S = 5.0
REMEMBERED_S = 1.0


def healthz(_: HttpRequest) -> HttpResponse:
    """The process answers. It asks nothing of anybody."""
    return HttpResponse("ok\n", content_type=TEXT)


def readyz(_: HttpRequest) -> HttpResponse:
    """The database answers, and has what this code relies on."""
    why = last.why()
    return HttpResponse(f"{why or 'ready'}\n", content_type=TEXT, status=503 if why else 200)


class _Last:
    """The last answer, for a second: everybody may ask, and each question is a connection."""

    def __init__(self) -> None:
        self._at, self._why = -REMEMBERED_S, ""

    def forget(self) -> None:
        self._at = -REMEMBERED_S

    def why(self) -> str:
        """Why not, as it was a second ago or is now."""
        if boottime() - self._at >= REMEMBERED_S:
            self._why = _unready()
            self._at = boottime()
        return self._why


def _unready() -> str:
    try:
        missing = bounded(LIMIT_S, _missing_migrations, "readyz")
    except Exception as error:  # noqa: BLE001  whatever it is, it is not ready
        logger.warning("not ready: %s", type(error).__name__)
        return "not ready: the database does not answer"
    return f"not ready: {missing} migrations are missing" if missing else ""


def _missing_migrations() -> int:
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


last = _Last()


def livez(request: HttpRequest) -> HttpResponse:
    """Whether deliveries are alive, computed now: 503 on anything red, with the reasons."""
    seen = look_once(LIMIT_S)
    status = 503 if seen.state is State.RED else 200
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse(_as_json(seen), status=status)
    wrong = [one for one in seen.found if one.state is not State.OK]
    lines = [seen.state.value, *map(_line, sorted(wrong, key=lambda one: -one.state.badness))]
    return HttpResponse("\n".join(lines) + "\n", content_type=TEXT, status=status)


def _line(one: Finding) -> str:
    because = f" (explained by {one.because})" if one.because else ""
    return f"{one.state.value} {one.check}: {plain(one.sentence)}{because}"


def _as_json(seen: Look) -> dict[str, object]:
    return {
        "state": seen.state.value,
        "at": seen.at,
        "reasons": [
            {
                "check": one.check,
                "channel": one.channel,
                "state": one.state.value,
                "since": moment(one.since),
                "sentence": one.sentence,
                "because": one.because,
            }
            for one in seen.found
            if one.state is not State.OK
        ],
    }
