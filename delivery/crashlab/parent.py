"""The warm parent: loads the project once and forks a child for each order.

`python -m delivery.crashlab.parent FD [MODULE …]` loads the modules, takes orders from a socket,
one JSON line each, and tells what becomes of the children. It has one thread and no connection, so
that a fork is clean. A fork takes a few milliseconds; a fresh start would take a second, most of it
spent in imports.
"""

import ctypes
import gc
import json
import os
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import django

PRELOADED = ("delivery.agent", "delivery.worker", "delivery.crashlab.tasks")
PR_SET_PDEATHSIG = 1
RESULT, LOG, ERROR = "result.json", "log", "error"


def main() -> None:
    """Load the project, say so, serve until whoever started this is gone."""
    django.setup()
    for module in (*PRELOADED, *sys.argv[2:]):
        import_module(module)
    gc.freeze()  # what all children share is not looked at, and so not copied, in each of them
    _check_that_forks_are_clean()
    Parent(socket.socket(fileno=int(sys.argv[1]))).serve()


def _check_that_forks_are_clean() -> None:
    from django.db import connections  # noqa: PLC0415  needs the settings

    connections.close_all()
    if threading.active_count() > 1:
        raise SystemExit("the warm parent has threads; its children could inherit a held lock")


class Parent:
    """Serves one client: an order in, the child's number out, then each change of its state."""

    def __init__(self, client: socket.socket) -> None:
        self._client = client
        self._orders = client.makefile("r", encoding="utf-8")
        self._alive: set[int] = set()

    def serve(self) -> None:
        """Fork and reap until the client ends; then end the children too."""
        woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._client, selectors.EVENT_READ, self._take_order)
            selector.register(woken, selectors.EVENT_READ, lambda: self._reap(woken))
            going = True
            while going:
                going = min(key.data() for key, _ in selector.select())
        for pid in self._alive:
            os.kill(pid, signal.SIGKILL)

    def _take_order(self) -> bool:
        line = self._orders.readline()
        if not line:
            return False
        pid = os.fork()
        if pid == 0:
            self._orders.close()
            self._client.close()
            _become_child(json.loads(line))
        self._alive.add(pid)
        return self._tell(pid=pid)

    def _reap(self, woken: int) -> bool:
        os.read(woken, 4096)
        while self._alive:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                break
            if os.WIFSTOPPED(status):
                self._tell(pid=pid, stopped=True)
            else:
                self._alive.discard(pid)
                self._tell(pid=pid, ended=os.waitstatus_to_exitcode(status))
        return True

    def _tell(self, **said: Any) -> bool:
        try:
            self._client.sendall(json.dumps(said).encode() + b"\n")
        except OSError:
            return False
        return True


def _become_child(order: dict[str, Any]) -> NoReturn:
    """Run one task in a session of its own, and end without a word to anybody's exit handlers."""
    os.setsid()
    _die_with_parent()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    folder = Path(order["folder"])
    _send_output_to(folder / LOG)
    status = 1
    try:
        found = _task(order["task"])(folder=folder, **order["arguments"])
        (folder / RESULT).write_text(json.dumps(found))
        status = 0
    except BaseException:  # noqa: BLE001  whatever it is, the parent's stack must not go on here
        (folder / ERROR).write_text(traceback.format_exc())
    os._exit(status)


def _die_with_parent() -> None:
    """A stopped child, in a session of its own, would outlive a parent that was killed for ever."""
    with suppress(AttributeError, OSError):  # prctl(2) is Linux's
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _send_output_to(path: Path) -> None:
    with path.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


def _task(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    task: Callable[..., Any] = getattr(import_module(module), name)
    return task


if __name__ == "__main__":
    main()
