"""`manage.py demo`: see three kills and no duplicate, in half a minute."""

import fcntl
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import connections
from django.urls import reverse

from config import supervisor
from config.demo import sample, showing
from config.demo.account import take_account
from config.demo.day.fill import fill
from config.demo.scene import DESTINATIONS, give_nature, set_up_channels
from config.demo.story import Story
from config.demo.verdict import Ending
from config.management.commands.up import as_typed, become_parent, listen
from delivery.recheck import Recheck
from delivery.simulator.client import Simulator
from ledgers import verify
from ledgers.management.command import Answer, LedgerCommand, MisuseError
from ledgers.management.words import plain
from ledgers.models import Delivery

# What earlier demos left beside the database.
LEFT_OVER = ("recipient.jsonl", "archive.jsonl")


class Command(LedgerCommand):
    help = (
        "Fill ledgers with three days of an installation, run an agent and its workers, kill them\n"
        "three times where it hurts, and count at the recipient. Works in .data/demo, which each\n"
        "demo begins anew. Then serves the console until Ctrl-C."
    )
    lesson = """
        Exit codes: 0 nothing was duplicated or lost and every invariant holds · 1 otherwise
                    2 another demo runs here, this is a data folder for real use, or no port
                      is free · 3 the database does not answer · 130 stopped by Ctrl-C

        Examples:
          manage.py demo
          manage.py demo --once              the same, without serving
          manage.py demo --once --json
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--once", action="store_true", help="do not serve; end with a verdict")

    def answer(self, options: dict[str, Any]) -> Answer:
        """The ending; or, in words, why there is none. No process of the demo is left behind."""
        folder: Path = settings.COUNTERFOIL_DATA
        try:
            return self._perform(folder, options)
        except (
            KeyboardInterrupt, RuntimeError, TimeoutError, OSError, subprocess.SubprocessError,
        ) as error:  # fmt: skip
            if _interrupted(error):
                text = "stopped; the next demo begins anew"
                raise CommandError(text, returncode=130) from None
            log = _short(folder / "demo.log")
            raise CommandError(f"{error}; what its processes said is in {log}") from error

    def _perform(self, folder: Path, options: dict[str, Any]) -> Answer:
        self._quiet = options["json"]
        self._start = time.monotonic()
        _refuse_real_use(folder)
        with _alone(folder), self._prepared(folder) as recipient:
            self._fill(recipient)
            ending = self._play(folder, recipient)
            serve = not options["once"] and not options["json"]
            listening = listen("127.0.0.1", 8000) if serve else None
            text = ending.as_text(_place(ending, listening))
            if listening is not None:
                self._serve(folder, recipient, listening, text)
        return Answer(ending.as_json(), text, finding=not ending.good)

    def _say(self, who: str, what: str) -> None:
        if not self._quiet:
            self.stdout.write(f"{time.monotonic() - self._start:5.1f} s  {plain(who):<13} {what}")
            self.stdout.flush()

    @contextmanager
    def _prepared(self, folder: Path) -> Iterator[Simulator]:
        """Empty ledgers that are known as a sample's, and a recipient that has seen nothing."""
        self._say("demo", f"a digest for {len(DESTINATIONS)} destinations, and three kills")
        settings.COUNTERFOIL_FIRST_CHANNEL = False  # it has channels of its own
        if sample.is_used():
            sample.throw_away()
            self._say("database", "what the last demo left is thrown away")
        call_command("migrate", interactive=False, verbosity=0)
        call_command("createcachetable", verbosity=0)
        sample.mark()
        cache.clear()
        for name in LEFT_OVER:
            (folder / name).unlink(missing_ok=True)
        self._say("database", f"a PostgreSQL of its own runs in {_short(folder)}")
        with Simulator.start(store=folder / LEFT_OVER[0]) as recipient:
            self._say("recipient", "a process of its own counts what really arrives")
            yield recipient

    def _fill(self, recipient: Simulator) -> None:
        self._say("sample day", "three days of an installation are played, by its own code")
        fill(recipient)
        self._say("sample day", f"{Delivery.objects.count()} deliveries, and some that are open")

    def _play(self, folder: Path, recipient: Simulator) -> Ending:
        set_up_channels(recipient.url)
        give_nature(recipient)
        run_id = f"digest-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        with (folder / "demo.log").open("ab") as log:
            story = Story(run_id, recipient, self._say, log)
            story.tell()
        broken = tuple(verdict.name for verdict in verify.broken(verify.verify()))
        differing = sum(1 for _ in Recheck().differences())
        return Ending(run_id, take_account(run_id, recipient), story.kills, broken, differing)

    def _serve(
        self, folder: Path, recipient: Simulator, listening: socket.socket, text: str
    ) -> None:
        """Print how to look at it, and become the parent of console and worker."""
        told = showing.greeting(listening.getsockname(), showing.new_password(), as_typed())
        self.stdout.write(f"{text}\n{told}")
        self.stdout.flush()
        _outlive_this_program(recipient)
        connections.close_all()
        become_parent(folder, listening)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One demo at a time in a data folder: two would use up each other's script.

    The lock goes with the process, and lasts while it serves, as another program.

    Raises:
        MisuseError: another one plays or is served here.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "demo.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise MisuseError(
                f"Another demo runs in {_short(folder)}, as process {lock.read() or '?'}."
                " Wait for its end, or press Ctrl-C there; `make stop` ends one that serves."
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        os.set_inheritable(lock.fileno(), True)  # noqa: FBT003
        try:
            supervisor.refuse_if_running(folder)
        except supervisor.AlreadyRunningError as error:
            raise MisuseError(f"The console is being served from here. {error}") from error
        yield


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C began it: it reaches the recipient too, which then answers nobody."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _refuse_real_use(folder: Path) -> None:
    """Sample data must never enter a real, append-only ledger."""
    if settings.DATABASE_URL or folder.name == "main":
        raise MisuseError(
            "The demo writes sample data, and these ledgers are for real use. Run it as"
            " `manage.py demo`, which takes .data/demo."
        )


def _outlive_this_program(recipient: Simulator) -> None:
    """The recipient ends when its standard input does: let that last as long as this process."""
    if recipient.process and recipient.process.stdin:
        os.set_inheritable(recipient.process.stdin.fileno(), True)  # noqa: FBT003


def _place(ending: Ending, listening: socket.socket | None) -> str:
    """Where the delivery that stays unknown is looked at."""
    if not ending.account.unknown:
        return ""
    name = ending.account.unknown[0].delivery.delivery_id
    if listening is None:
        folder = _short(settings.COUNTERFOIL_DATA)
        return f"COUNTERFOIL_DATA={folder} {as_typed()} show_delivery {str(name)[:8]}"
    host, port = listening.getsockname()
    return f"http://{host}:{port}{reverse('admin:delivery', args=[name])}"


def _short(folder: Path) -> str:
    return os.path.relpath(folder)
