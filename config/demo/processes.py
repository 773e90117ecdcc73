"""The demo's processes: started for real, killed for real."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO

from django.conf import settings

from config.children import die_with

STOP_S = 10.0


@contextmanager
def started(
    log: IO[bytes], *words: str, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process of our own interpreter; killed at the latest when the block is left.

    Args:
        log: takes its standard error.
        words: the interpreter's arguments.
        env: its environment; ours if none is given.
    """
    # Ctrl-C waits until the fork is over: what Python calls around one swallows exceptions. The new
    # process keeps it blocked, since the demo ends it by other signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=settings.BASE_DIR,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        start_new_session=True,  # a Ctrl-C at the terminal is for the demo alone
        preexec_fn=die_with(os.getpid()),  # noqa: PLW1509  this parent has one thread
    )
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL, and wait until it is gone."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


def end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM: it finishes what is on the wire first."""
    process.terminate()
    process.wait(STOP_S)


def first_line(process: subprocess.Popen[bytes]) -> str:
    """What it says first.

    Raises:
        RuntimeError: it ended without a word.
    """
    line = process.stdout.readline().decode().strip() if process.stdout else ""
    if not line:
        raise RuntimeError(f"a process of the demo ended with {process.wait()} and said nothing")
    return line
