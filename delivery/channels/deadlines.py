"""A deadline for a whole call, kept by one watching thread per process.

A socket's own timeout bounds one read, not a call: with a timeout of one second a peer that drips
a byte now and then held a caller for nine (measured). So the watch shuts the call's socket down
when its time is over, whatever it is doing then: connecting, in the TLS handshake, writing,
reading. The thread that made the call sees a broken connection and reports how far it had got.
"""

import math
import os
import socket
import threading
from contextlib import suppress

from delivery.timing import boottime

_RECHECK_S = 1.0  # waiting does not count suspension, boottime does: look again this often


class Watched:
    """One call under watch. `over` says that its time has passed and its socket was shut down."""

    __slots__ = ("_socket", "deadline", "over")

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.over = False
        self._socket: socket.socket | None = None

    def left(self) -> float:
        """Seconds until the deadline, fit for `settimeout`.

        Raises:
            TimeoutError: if there are none left.
        """
        seconds = self.deadline - boottime()
        if self.over or seconds <= 0:
            raise TimeoutError("the call's time was over")
        return seconds

    def uses(self, sock: socket.socket) -> None:
        """Name the socket that is to be shut down.

        Raises:
            TimeoutError: if the time is over already. The order matters: whichever of this thread
                and the watch comes second sees what the first one wrote.
        """
        self._socket = sock
        if self.over:
            raise TimeoutError("the call's time was over")

    def end(self) -> None:
        """Shut the socket down, if there is one yet."""
        self.over = True
        if self._socket is None:
            return
        with suppress(OSError):  # not connected any more
            # Not `self._socket.shutdown`: an SSLSocket's own drops its state under the reader.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class Watch:
    """Ends overdue calls. Its thread starts with the first call."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget every call and the thread: after a fork both belong to the parent."""
        self._calls: set[Watched] = set()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._wakes_at = math.inf
        self._thread: threading.Thread | None = None

    def add(self, deadline: float) -> Watched:
        """Watch a call until `remove`. `deadline` is a moment on `boottime()`."""
        call = Watched(deadline)
        with self._lock:
            self._calls.add(call)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="deadlines", daemon=True)
                self._thread.start()
            if deadline < self._wakes_at:
                self._wake.set()
        return call

    def remove(self, call: Watched) -> None:
        """End the watch. Once this has returned, the socket will not be shut down any more."""
        with self._lock:
            self._calls.discard(call)

    def _run(self) -> None:
        while True:
            self._wake.wait(self._until_next())
            self._wake.clear()

    def _until_next(self) -> float | None:
        """End what is overdue; the seconds until the next look, None while there is no call."""
        with self._lock:
            now = boottime()
            for call in self._calls:
                if call.deadline <= now and not call.over:
                    call.end()
            self._wakes_at = min(
                (call.deadline for call in self._calls if not call.over), default=math.inf
            )
        return None if math.isinf(self._wakes_at) else min(self._wakes_at - now, _RECHECK_S)


watch = Watch()
os.register_at_fork(after_in_child=watch.reset)
