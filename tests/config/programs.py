"""Programs for a parent to keep running, and looking at what they do."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from config.children import Program
from tests.embedded.processes import PROJECT, until

# Says who it is, and lives until it is told to end; then says so.
STEADY = """
import os, signal, sys
def end(*_):
    open(f"{home}/{name}.told", "a").write(f"{os.getpid()}\\n")
    sys.exit(0)
home, name = sys.argv[1:]
signal.signal(signal.SIGTERM, end)
open(f"{home}/{name}.new", "a").write(f"{os.getpid()} {os.getsid(0)}\\n")
os.rename(f"{home}/{name}.new", f"{home}/{name}.{os.getpid()}")
while True:
    signal.pause()
"""
# Ends at once, well.
BRIEF = "import sys; open(f'{sys.argv[1]}/{sys.argv[2]}.{sys.argv[3]}', 'a').write('x')"
# Does not listen to SIGTERM.
DEAF = STEADY.replace("signal.signal(signal.SIGTERM, end)", "signal.signal(15, signal.SIG_IGN)")
# Has a child of its own, in the same session, that outlives it.
PARENT = STEADY.replace(
    "while True", "os.fork()\nopen(f'{home}/child.{os.getpid()}', 'w')\nwhile True"
)


def program(home: Path, name: str, code: str = STEADY) -> Program:
    return Program(name, [sys.executable, "-c", code, str(home), name])


def parent(home: Path, *programs: Program) -> "subprocess.Popen[str]":
    """A parent in a session of its own, as one at a terminal is."""
    listed = json.dumps([asdict(program) for program in programs])
    return subprocess.Popen(
        [sys.executable, "-m", "config.supervisor", "run", str(home), listed],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def pids(home: Path, name: str) -> list[int]:
    """The processes that have said who they are."""
    suffixes = [path.suffix[1:] for path in home.glob(f"{name}.*")]
    return [int(suffix) for suffix in suffixes if suffix.isdecimal()]


def started(home: Path, name: str, besides: list[int] | None = None) -> int:
    """The number of the first process of that name besides the ones known."""
    fresh = until(lambda: set(pids(home, name)) - set(besides or ()), f"{name} was started")
    return fresh.pop()


def alive(pid: int) -> bool:
    """Whether it runs; a dead one that nobody has reaped does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def ends(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Its exit code and what it complained of."""
    _, told = process.communicate(timeout=40)
    return process.returncode, told


def forget(process: "subprocess.Popen[str]") -> None:
    """End a parent that a test left running, with all it started, and close its pipes."""
    process.terminate()
    process.communicate(timeout=40)
