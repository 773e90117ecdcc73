"""`manage.py demo`: see three kills and no duplicate, in half a minute."""

import fcntl
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import connections
from django.urls import reverse

from config import supervisor
from config.demo.account import Account, Line, take_account
from config.demo.scene import DESTINATIONS, give_nature, set_up_channels
from config.demo.story import Story
from config.management.commands.up import OPERATOR, as_typed, become_parent, listen
from delivery.simulator.client import Simulator
from ledgers import verify
from ledgers.management.command import Answer, LedgerCommand, MisuseError
from ledgers.management.words import plain, table

HEADERS = ("destination", "attempts", "effects", "status", "how")


@dataclass(frozen=True, slots=True)
class Ending:
    """What one telling came to."""

    run_id: str
    account: Account
    kills: int
    broken: tuple[str, ...]

    @property
    def good(self) -> bool:
        return not self.broken and not self.account.duplicates and self.account.complete


class Command(LedgerCommand):
    help = (
        "Run an agent and its workers, kill them three times where it hurts, and count at the\n"
        "recipient. Works in a data folder of its own (.data/demo). Then serves the console until\n"
        "Ctrl-C, with the one delivery that stays unknown in it."
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
                text = "stopped; what it owes stays in its ledger"
                raise CommandError(text, returncode=130) from None
            log = _short(folder / "demo.log")
            raise CommandError(f"{error}; what its processes said is in {log}") from error

    def _perform(self, folder: Path, options: dict[str, Any]) -> Answer:
        self._quiet = options["json"]
        self._start = time.monotonic()
        _refuse_real_use(folder)
        with _alone(folder), Simulator.start(store=folder / "recipient.jsonl") as recipient:
            self._prepare(folder)
            ending = self._play(folder, recipient)
            serve = not options["once"] and not options["json"]
            listening = listen("127.0.0.1", 8000) if serve else None
            text = _verdict(ending, listening)
            if listening is not None:
                self._serve(folder, recipient, listening, text)
        return Answer(_as_json(ending), text, finding=not ending.good)

    def _say(self, who: str, what: str) -> None:
        if not self._quiet:
            self.stdout.write(f"{time.monotonic() - self._start:5.1f} s  {plain(who):<13} {what}")
            self.stdout.flush()

    def _prepare(self, folder: Path) -> None:
        self._say("demo", f"a digest for {len(DESTINATIONS)} destinations, and three kills")
        settings.COUNTERFOIL_FIRST_CHANNEL = False  # it has channels of its own
        call_command("migrate", interactive=False, verbosity=0)
        call_command("createcachetable", verbosity=0)
        self._say("database", f"a PostgreSQL of its own runs in {_short(folder)}")

    def _play(self, folder: Path, recipient: Simulator) -> Ending:
        set_up_channels(recipient.url)
        give_nature(recipient)
        self._say("recipient", "a process of its own counts what really arrives")
        run_id = f"digest-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        with (folder / "demo.log").open("ab") as log:
            story = Story(run_id, recipient, self._say, log)
            story.tell()
        broken = tuple(verdict.name for verdict in verify.broken(verify.verify()))
        return Ending(run_id, take_account(run_id, recipient), story.kills, broken)

    def _serve(
        self, folder: Path, recipient: Simulator, listening: socket.socket, text: str
    ) -> None:
        """Print how to look at it, and become the parent of console and worker."""
        host, port = listening.getsockname()
        self.stdout.write(f"{text}\n\nConsole:  http://{host}:{port}/")
        self.stdout.write(f"Login:    {OPERATOR}  {_new_password()}")
        self.stdout.write("Ctrl-C stops the console, the worker and the recipient.\n")
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


def _new_password() -> str:
    """A password for this showing; the demo guards nothing."""
    password = secrets.token_urlsafe(9)
    user, _ = get_user_model().objects.get_or_create(
        username=OPERATOR, defaults={"is_staff": True, "is_superuser": True}
    )
    user.set_password(password)
    user.save()
    return password


def _outlive_this_program(recipient: Simulator) -> None:
    """The recipient ends when its standard input does: let that last as long as this process."""
    if recipient.process and recipient.process.stdin:
        os.set_inheritable(recipient.process.stdin.fileno(), True)  # noqa: FBT003


def _verdict(ending: Ending, listening: socket.socket | None) -> str:
    account = ending.account
    rows = [_row(line) for line in account.lines]
    unknown = f"unknown {len(account.unknown)}"
    if account.unknown:
        unknown += f" (open it: {_place(account.unknown[0], listening)})"
    lines = [
        "",
        table(HEADERS, rows),
        "",
        _sum(ending, unknown),
        *(_confession(line) for line in account.unknown),
        *(f"BROKEN invariant: {name}" for name in ending.broken),
    ]
    return "\n".join(lines)


def _sum(ending: Ending, unknown: str) -> str:
    account = ending.account
    return (
        f"sent {account.sent}, effects at the recipient {account.effects},"
        f" killed {ending.kills} times, duplicates {account.duplicates}, {unknown}"
    )


def _row(line: Line) -> tuple[object, ...]:
    row = line.delivery
    return (row.destination, row.attempt_count, line.effects, row.status, line.how)


def _confession(line: Line) -> str:
    return (
        f"The unknown one is not among these: the recipient acted on it {line.effects} times, by\n"
        "its own count, which no sender sees. It lost the answer, hides its history and honours\n"
        "no key. Nothing sends it again by guesswork: a person decides."
    )


def _place(line: Line, listening: socket.socket | None) -> str:
    if listening is None:
        short = str(line.delivery.delivery_id)[:8]
        folder = _short(settings.COUNTERFOIL_DATA)
        return f"COUNTERFOIL_DATA={folder} {as_typed()} show_delivery {short}"
    host, port = listening.getsockname()
    page = reverse("admin:delivery", args=[line.delivery.delivery_id])
    return f"http://{host}:{port}{page}"


def _short(folder: Path) -> str:
    return os.path.relpath(folder)


def _as_json(ending: Ending) -> dict[str, Any]:
    account = ending.account
    return {
        "run_id": ending.run_id,
        "sent": account.sent,
        "effects": account.effects,
        "killed": ending.kills,
        "duplicates": account.duplicates,
        "unknown": len(account.unknown),
        "effects_of_unknown": sum(line.effects for line in account.unknown),
        "broken_invariants": list(ending.broken),
        "good": ending.good,
        "deliveries": account.as_json(),
    }
