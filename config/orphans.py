"""Processes that outlived the leader of their session: found by number, ended by group.

A number alone proves nothing, since numbers come again. So the note holds when each leader was
started, by the kernel's own count, and a group is ended only if its leader is that one, or is gone
while the group is not (then the number cannot have been given to anybody else).
"""

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

DRAIN_LIMIT_S = 10.0
PAUSE_S = 0.02


def note_down(note: IO[str], leaders: list[int]) -> None:
    """Replace the note: who the parent is, and which leaders it started."""
    groups = {str(pid): _started(pid) for pid in leaders if pid}
    note.seek(0)
    note.truncate()
    json.dump({"parent": os.getpid(), "groups": groups}, note)
    note.flush()


def parent_noted(note: IO[str]) -> str:
    """The process number of the parent that wrote the note; a question mark if none did."""
    return str(_read(note).get("parent", "?"))


def sweep_noted(note: IO[str]) -> None:
    """End what an earlier parent left behind; it may first finish what is on the wire."""
    groups: dict[str, str] = _read(note).get("groups", {})
    for pid, started in groups.items():
        if started and _started(int(pid)) in {started, ""}:
            _end_group(int(pid))
    note_down(note, [])


def kill_group(pid: int) -> None:
    """SIGKILL to the group that `pid` leads or led."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _end_group(pid: int) -> None:
    """The leader is told first and alone; whoever is left after the limit is killed."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGTERM)
        give_up = time.monotonic() + DRAIN_LIMIT_S
        while _started(pid) and time.monotonic() < give_up:
            time.sleep(PAUSE_S)
    kill_group(pid)


def _started(pid: int) -> str:
    """When a living process was started, in clock ticks since the boot; empty if it is not there
    (or only a zombie), or where there is no /proc.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
    # The name, in parentheses, may hold anything; the state is the next word, the start the 20th.
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]


def _read(note: IO[str]) -> dict[str, Any]:
    note.seek(0)
    try:
        known: dict[str, Any] = json.load(note)
    except ValueError:
        return {}
    return known
