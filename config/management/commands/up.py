"""`manage.py up`: everything for real use, in one command with one Ctrl-C."""

import json
import os
import secrets
import shlex
import socket
import sys
from argparse import ArgumentTypeError
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.core.management.base import CommandParser
from django.db import connections

from config import supervisor
from config.snippet import SNIPPET
from delivery.samples import SLUG, ensure_first_channel, notes_file
from ledgers.management.command import MISUSE, Answer, LedgerCommand, MisuseError, as_line

OPERATOR = "operator"
PORTS_TRIED = 20
BACKLOG = 128


class Command(LedgerCommand):
    help = (
        "Start the console, a worker and the watch, and keep them running until Ctrl-C. Migrates\n"
        "the database first. On first use it makes the user `operator` and prints a password,\n"
        "once. With --json the greeting is one line of JSON."
    )
    lesson = """
        Exit codes: 0 stopped in order, by Ctrl-C or `make stop`
                    2 it runs already, or it cannot listen there
                    3 the database does not answer

        Examples:
          manage.py up
          manage.py up --port 9000
          manage.py up --host 0.0.0.0        for browsers elsewhere; see COUNTERFOIL_MODE first
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--host", default="127.0.0.1", help="listen there (%(default)s)")
        parser.add_argument(
            "--port",
            type=_port,
            default=8000,
            help="first port to try (%(default)s); if it is taken, the next one",
        )

    def answer(self, options: dict[str, Any]) -> Answer:
        folder: Path = settings.COUNTERFOIL_DATA
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            supervisor.refuse_if_running(folder)
        except supervisor.AlreadyRunningError as error:
            raise MisuseError(str(error)) from error
        call_command("migrate", interactive=False, verbosity=0)
        call_command("createcachetable", verbosity=0)
        ensure_first_channel()
        listening = listen(options["host"], options["port"])
        greet = self._greet_program if options["json"] else self._greet
        greet(listening.getsockname(), first_password())
        connections.close_all()
        become_parent(folder, listening)

    def _greet_program(self, address: tuple[str, int], password: str | None) -> None:
        host, port = address
        said = {
            "console": f"http://{host}:{port}/",
            "user": OPERATOR,
            "password": password,
            "notes": str(notes_file()),
        }
        self.stdout.write(as_line(said))
        self.stdout.flush()

    def _greet(self, address: tuple[str, int], password: str | None) -> None:
        host, port = address
        self.stdout.write(f"\nConsole:  http://{host}:{port}/")
        if password:
            self.stdout.write(f"Login:    {OPERATOR}  {password}   (shown this once)")
        else:
            self.stdout.write(f"Login:    {OPERATOR}, with the password shown at the first start")
        self.stdout.write(f"          forgotten? {_here()}{as_typed()} changepassword {OPERATOR}")
        self.stdout.write(f"\n{SNIPPET.format(python=_here() + _python(), channel=SLUG)}")
        self.stdout.write(f"The channel {SLUG} writes to {_short(notes_file())}.")
        self.stdout.write("Ctrl-C stops the console, the worker and the watch.\n")
        self.stdout.flush()


def first_password() -> str | None:
    """The password of a new `operator` if nobody can administer yet; it is kept only as a hash."""
    users = get_user_model().objects
    if users.filter(is_superuser=True).exists():
        return None
    password = secrets.token_urlsafe(15)
    users.create_superuser(OPERATOR, password=password)
    return password


def _let_alarms_lead_to(host: str, port: int) -> None:
    """On one machine only `up` knows the console's port; a setting wins."""
    if settings.COUNTERFOIL_MODE == "local":
        os.environ.setdefault("COUNTERFOIL_CONSOLE_URL", f"http://{host}:{port}/")


def listen(host: str, first_port: int) -> socket.socket:
    """A listening socket on the first free port from `first_port` on.

    Raises:
        CommandError: none of the ports tried is free, or the address is not ours.
    """
    for port in range(first_port, first_port + PORTS_TRIED):
        with suppress(OSError, OverflowError):  # past the last port there is
            return socket.create_server((host, port), backlog=BACKLOG)
    raise CommandError(
        f"Cannot listen on {host}, ports {first_port} to {first_port + PORTS_TRIED - 1}:"
        " all are taken, or the address is not this machine's. Name another --port or --host.",
        returncode=MISUSE,
    )


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:6]) < 65_536:
        raise ArgumentTypeError(f"{text!r} is not a port, a whole number from 1 to 65535")
    return int(text)


def become_parent(folder: Path, listening: socket.socket) -> NoReturn:
    """Replace this process, with all of Django in it, by the small parent."""
    _let_alarms_lead_to(*listening.getsockname()[:2])
    listening.set_inheritable(True)
    number = listening.fileno()
    programs = [
        {"name": "web", "command": [*_module("config.web"), str(number)], "pass_fds": [number]},
        {"name": "worker", "command": [sys.executable, str(_manage_py()), "deliver"]},
        {
            "name": "watch",
            "command": [sys.executable, str(_manage_py()), *["watch", "--push", "--every", "15"]],
        },
    ]
    words = [*_module("config.supervisor"), "run", str(folder), json.dumps(programs)]
    os.chdir(settings.BASE_DIR)
    os.execv(sys.executable, words)  # noqa: S606  our own interpreter and module


def _module(name: str) -> list[str]:
    return [sys.executable, "-m", name]


def _manage_py() -> Path:
    path: Path = settings.BASE_DIR / "manage.py"
    return path


def _python() -> str:
    return _short(Path(sys.executable))


def as_typed() -> str:
    """How somebody in this folder types `manage.py`."""
    return f"{_python()} {_short(_manage_py())}"


def _here() -> str:
    """What leads another shell to these ledgers, where only the environment said which they are."""
    said = os.environ.get("COUNTERFOIL_DATA")
    return f"COUNTERFOIL_DATA={shlex.quote(said)} " if said else ""


def _short(path: Path) -> str:
    """Relative where that is what somebody in this folder would type."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
