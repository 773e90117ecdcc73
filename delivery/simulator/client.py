"""Start, instruct and question a recipient process. For tests, the demo and benchmarks.

with Simulator.start() as recipient:
    recipient.behave("room:ops", "accept_and_reset", "accept", dedupe_s=3600)
    …
    assert recipient.effects("room:ops") == 1
"""

import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

import delivery

EVERYWHERE = "*"


class Simulator:
    """A recipient at `url`. One that was started here is also stopped here."""

    def __init__(self, url: str, process: subprocess.Popen[bytes] | None = None) -> None:
        self.url = url
        self.process = process
        self._address = urlsplit(url).netloc

    @classmethod
    def start(cls, store: Path | None = None, port: int = 0) -> Self:
        """Start a recipient process and wait until it listens (about 0.1 s).

        Args:
            store: its append-only file; one that exists is taken up again, as after a restart.
            port: 0 lets the system choose.

        Raises:
            RuntimeError: if it ends instead of listening.
        """
        command = [sys.executable, "-m", "delivery.simulator", "--until-eof", "--port", str(port)]
        if store is not None:
            command += ["--store", str(store)]
        home = str(Path(delivery.__file__).resolve().parents[1])
        path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH", ""))))
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
        return cls(_first_line(process), process)

    def stop(self) -> None:
        """End the process, if it was started here, and wait for its end."""
        if self.process is not None:
            self.process.terminate()
            self._reap(self.process)

    def kill(self) -> None:
        """SIGKILL the process. What it had answered is in its store."""
        if self.process is not None:
            self.process.kill()
            self._reap(self.process)

    def _reap(self, process: subprocess.Popen[bytes]) -> None:
        process.wait(10)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        self.process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def hook(self, to: str) -> str:
        """The URL at which a webhook channel reaches destination `to`."""
        return f"{self.url}/hook/{quote(to, safe='')}"

    @property
    def look_up_url(self) -> str:
        """A template for a webhook channel's `look_up_url`."""
        return f"{self.url}/v1/look_up?key={{key}}"

    def behave(
        self, to: str = EVERYWHERE, *script: object, always: object = None, **settings: object
    ) -> None:
        """Tell it how to treat submissions to `to` (all destinations by default).

        Args:
            script: behaviours, one consumed per submission (see `delivery.simulator.behaviour`).
            always: what holds once the script is used up; `accept` unless said otherwise.
            settings: see `delivery.simulator.recipient.Settings`.

        Raises:
            ValueError: if it knows no such behaviour or setting.
        """
        said: dict[str, object] = {"to": to, "script": script, "settings": settings}
        if always is not None:
            said["always"] = always
        self._tell("behave", said)

    def release(self, signal: str = "go") -> int:
        """Answer the submissions held by `accept_and_wait`; how many there were."""
        released: int = self._tell("release", {"signal": signal})["released"]
        return released

    def set_clock(self, offset_s: float) -> None:
        """Let its clock run this many seconds ahead (or behind), as for a dedupe window's end."""
        self._tell("clock", {"offset_s": offset_s})

    def inject(self, to: str, text: str = "", **how: object) -> str:
        """Show a message that no submission brought: `author`, `recognizer`, `at`. Its id."""
        added: str = self._tell("inject", {"to": to, "text": text, **how})["id"]
        return added

    def forget(self) -> None:
        """Be as new."""
        self._tell("forget", {})

    def effects(self, to: str | None = None) -> int:
        """How many submissions were acted on, at `to` or in all."""
        if to is None:
            return int(self._ask("totals")["effects"])
        return int(self._ask("effects", to=to)[to])

    def effects_by_destination(self) -> dict[str, int]:
        """The number of effects of every destination that has any."""
        counts: dict[str, int] = self._ask("effects")
        return counts

    def submissions(self, to: str | None = None) -> int:
        """How many complete submissions were on the wire, acted on or not."""
        if to is None:
            return int(self._ask("totals")["submissions"])
        return len(self.last_submissions(to, 1_000_000))

    def last_submissions(self, to: str | None = None, last: int = 20) -> list[dict[str, Any]]:
        """The last ones in order: to, key, body_hash, recognizer, author, at, did, effect (id)."""
        asked: dict[str, Any] = {"last": last} | ({} if to is None else {"to": to})
        submissions: list[dict[str, Any]] = self._ask("submissions", **asked)
        return submissions

    def messages(self, to: str) -> list[dict[str, Any]]:
        """What can be seen at `to`, newest first; the oldest is the control message."""
        messages: list[dict[str, Any]] = []
        asked = {"to": to}
        while True:
            page = self._call("GET", "/v1/messages?" + urlencode(asked))
            messages += page["messages"]
            if page["next"] is None:
                return messages
            asked["before"] = page["next"]

    def wait_for(
        self,
        what: str = "effects",
        count: int = 1,
        *,
        to: str | None = None,
        timeout_s: float = 10.0,
        signal: str = "go",
    ) -> int:
        """Wait until `effects`, `submissions` or `held` (by `signal`) has reached `count`.

        Raises:
            TimeoutError: saying how far it got.
        """
        asked: dict[str, Any] = {
            "what": what,
            "count": count,
            "timeout_s": timeout_s,
            "signal": signal,
        }
        if to is not None:
            asked["to"] = to
        told = self._ask("wait", wait_s=timeout_s, **asked)
        if not told["enough"]:
            raise TimeoutError(f"{told['reached']} of {count} {what} after {timeout_s} s")
        return int(told["reached"])

    def _ask(self, name: str, *, wait_s: float = 0.0, **query: Any) -> Any:
        return self._call("GET", f"/control/{name}?{urlencode(query)}", wait_s=wait_s)

    def _tell(self, name: str, said: dict[str, object]) -> Any:
        return self._call("POST", f"/control/{name}", json.dumps(said).encode())

    def _call(self, method: str, path: str, body: bytes = b"", *, wait_s: float = 0.0) -> Any:
        connection = http.client.HTTPConnection(self._address, timeout=10 + wait_s)
        try:
            connection.request(method, path, body, {"Connection": "close"})
            answer = connection.getresponse()
            told = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status == 400:
            raise ValueError(told["error"])
        return told


def _first_line(process: subprocess.Popen[bytes]) -> str:
    if process.stdout is None:
        raise RuntimeError("the recipient was started without a standard output")
    line = process.stdout.readline().decode().strip()
    if not line:
        raise RuntimeError(f"the recipient ended at once with status {process.wait(10)}")
    return line
