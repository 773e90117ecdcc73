"""An installation beside the real one: a database and a data folder of its own, and its processes.

What happens in it happens in other processes, which know nothing of the real database.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from django.db.backends.base.base import BaseDatabaseWrapper

from config.demo.processes import end, first_line, started
from config.embedded.base import DatabaseWrapper as EmbeddedWrapper
from config.embedded.cluster import SUPERUSER
from config.recovery.errors import RecoveryError

LOG = "processes.log"


@dataclass(frozen=True, slots=True)
class Copy:
    """Where it is: the database's address, and the folder of its mark, key and log."""

    url: str
    data: Path

    def environment(self) -> dict[str, str]:
        """For its processes: nothing of this installation's settings reaches them."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("COUNTERFOIL_", "EMAIL"))}
        return {
            **kept,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "COUNTERFOIL_ENV_FILE": os.devnull,
            "COUNTERFOIL_DATA": str(self.data),
            "COUNTERFOIL_UNDO_S": "0",
            "COUNTERFOIL_STATEMENT_TIMEOUT_S": "3600",  # all of a large ledger is verified
            "DATABASE_URL": self.url,
        }

    def manage(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run `manage.py WORDS...` in it to its end."""
        # Its standard error goes to the log: it may be long, and is only wanted when it fails.
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (
            (self.data / LOG).open("ab") as log,
            started(log, "manage.py", *words, env=self.environment()) as process,
        ):
            out, _ = process.communicate(stdin.encode())
            return subprocess.CompletedProcess(words, process.wait(), out.decode())

    @contextmanager
    def worker(self) -> Iterator["subprocess.Popen[bytes]"]:
        """A resident worker that has begun; told to end when the block is left, unless it died."""
        with self._started("manage.py", "deliver") as process:
            first_line(process)
            yield process
            if process.poll() is None:
                end(process)

    @contextmanager
    def hand(self) -> Iterator["Hand"]:
        """Somebody in it who does and looks as told."""
        with self._started("-m", "config.recovery.within") as process:
            yield Hand(process, self.data / LOG)

    @contextmanager
    def _started(self, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (
            (self.data / LOG).open("ab") as log,
            started(log, *words, env=self.environment()) as process,
        ):
            yield process


@dataclass(frozen=True, slots=True)
class Hand:
    """Asks `config.recovery.within`, one line of JSON at a time."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def __call__(self, act: str, **said: object) -> Any:
        """Let it do one of `config.recovery.acts`; what came of it.

        Raises:
            RecoveryError: it failed; the text holds the end of its log.
        """
        sent = json.dumps({"act": act, **said}).encode() + b"\n"
        if self.process.stdin is None or self.process.stdout is None:
            raise TypeError("it was started without pipes")
        try:
            self.process.stdin.write(sent)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it is gone; the missing answer says so
        line = self.process.stdout.readline()
        if not line:
            tail = self.log.read_text(errors="replace")[-2_000:]
            raise RecoveryError(f"{act} failed in the copy: {tail}")
        return json.loads(line)


def url_of(connection: BaseDatabaseWrapper, database: str, address: str) -> str:
    """The address of another database on the server of a connection.

    Args:
        connection: to the server.
        database: its name, of letters, digits and underscores.
        address: what DATABASE_URL says, for a server that is not embedded.
    """
    if isinstance(connection, EmbeddedWrapper):
        return socket_url(connection.cluster.socket_folder, database)
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=f"{parts.path.rpartition('/')[0]}/{database}"))


def socket_url(folder: Path, database: str) -> str:
    """The address of a database of an embedded server, by its socket's folder."""
    return f"postgres://{SUPERUSER}@/{quote(database)}?{urlencode({'host': str(folder)})}"
