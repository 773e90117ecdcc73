"""Who holds a step's lease: one process of one host since one boot, and whether it is gone.

A number alone proves nothing, since numbers come again, on other hosts and in other containers. So
a holder is named with all that makes its number unique, and counts as gone only where this process
would see it. Without /proc nobody is named, and a lease simply runs out.
"""

import os
import re
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path

PROC = Path("/proc")
MAX_HOST = 100
_NAMED = re.compile(r"(?P<pid>\d+)@(?P<host>\S+) started=(?P<start>\d+) (?P<world>boot=\S+ ns=\d+)")


def present() -> str:
    """This process, as a lease keeps it; empty where it cannot be told apart from others."""
    world, start = _world(), _started(os.getpid())
    if not world or not start:
        return ""
    return f"{os.getpid()}@{_host()} started={start} {world}"


def is_gone(holder: str) -> bool:
    """Whether that process provably runs no more. False for another host, and whenever unsure."""
    named = _NAMED.fullmatch(holder)
    if named is None or (named["host"], named["world"]) != (_host(), _world()):
        return False
    pid = int(named["pid"])
    try:
        # Asked first: with hidden processes /proc shows only one's own, a signal tells them all.
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    start = _started(pid)
    return start != "" and (start != named["start"] or _is_only_a_name(pid))


def worded(holder: str) -> str:
    """The holder for people: `process 71 on host-a`; `another process` where none is named."""
    named = _NAMED.fullmatch(holder)
    if named is None:
        return "another process"
    return (
        "this very process" if holder == present() else f"process {named['pid']} on {named['host']}"
    )


def _host() -> str:
    return re.sub(r"\s", "-", socket.gethostname())[:MAX_HOST] or "-"


@cache
def _world() -> str:
    """This boot of this kernel, and the space in which process numbers count here."""
    with suppress(OSError, IndexError):
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        space = re.findall(r"\d+", str((PROC / "self/ns/pid").readlink()))[0]
        return f"boot={boot} ns={space}"
    return ""


def _started(pid: int) -> str:
    """When a process was started, in clock ticks since the boot; empty if that cannot be read."""
    fields = _stat(pid)
    return fields[19] if len(fields) > 19 else ""


def _is_only_a_name(pid: int) -> bool:
    """Whether it is dead and merely not reaped by its parent; no thread of it lives on."""
    try:
        threads = len(list((PROC / str(pid) / "task").iterdir()))
    except OSError:
        return False
    return threads == 1 and _stat(pid)[:1] == ["Z"]


def _stat(pid: int) -> list[str]:
    """The fields from the state on: the name before them, in parentheses, may hold anything."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
