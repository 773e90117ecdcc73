"""Which database this host's agents record in, noted beside the marks of its workers.

An agent that was started with other settings than the workers records in another database. All is
well there, and nothing is ever sent; and all is well where the workers are. Only what is kept
outside both can tell. Where there is no folder to write to, nothing is noted.
"""

import json
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import DatabaseError, InterfaceError, connection

from delivery import mark
from delivery.timing import boottime
from ledgers import instance
from ledgers.instance import Instance

logger = logging.getLogger(__name__)
NOTED_EVERY_S = 60.0
_noted: dict[str, float] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Trace:
    """Somebody of this host used this database so long ago."""

    instance: Instance
    age_s: float


def note() -> None:
    """This process has just recorded something. At most once a minute; never raises."""
    name = str(connection.settings_dict["NAME"])
    with _lock:
        if boottime() < _noted.get(name, 0.0):
            return
        _noted[name] = boottime() + NOTED_EVERY_S
    try:
        here = instance.present()
        place = _folder()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        (place / f"{here.fingerprint}.json").write_text(
            json.dumps({"instance": here.written()}), encoding="utf-8"
        )
    except (OSError, DatabaseError, InterfaceError) as error:
        logger.debug("where this agent records is not noted: %s", error)


def recorders() -> list[Trace]:
    """The databases that agents of this host recorded in, and how long ago."""
    return list(_traces(_folder()))


def workers() -> list[Trace]:
    """The databases that workers of this host keep a mark of, and how long ago they did."""
    return list(_traces(mark.folder()))


def _folder() -> Path:
    return mark.folder() / "recorders"


def _traces(folder: Path) -> Iterator[Trace]:
    for path in sorted(folder.glob("*.json")):
        try:
            said: Any = json.loads(path.read_text(encoding="utf-8"))
            one = Instance.read(said["instance"])
            age_s = time.time() - path.stat().st_mtime
        except (OSError, ValueError, KeyError, TypeError):  # just replaced, or not ours
            continue
        if one is not None:
            yield Trace(one, age_s)
