"""What every command of the ledgers shares: how it answers, how it fails, how it teaches.

A command works out one `Answer`; whether it is shown as a table or as JSON is decided here. Exit
codes: 0 fine, 1 a finding, 2 used wrongly, 3 the database could not be asked.
"""

import argparse
import getpass
import json
import sys
from dataclasses import dataclass
from textwrap import dedent
from typing import Any, NoReturn

from django.core.management.base import (
    BaseCommand,
    CommandError,
    CommandParser,
    DjangoHelpFormatter,
)
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError

from ledgers.canonical import Json
from ledgers.errors import InvalidValueError, LedgerError, NotFoundError, NotMigratedError

FINE, FINDING, MISUSE, NO_DATABASE = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command found: as JSON, as text, and whether a script should stop and look."""

    value: Json
    text: str
    finding: bool = False


class MisuseError(CommandError):
    """The command was used wrongly; the text says what would be right."""

    def __init__(self, text: str, field: str = "") -> None:
        super().__init__(text, returncode=MISUSE)
        self.field = field


class PlainHelp(DjangoHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Own options first, and line breaks as they were written."""


class LedgerCommand(BaseCommand):
    """A command with `--json`, exit codes that mean something, and a help that teaches.

    Subclasses set `help` and `lesson` (exit codes and examples) and implement `answer`.
    """

    lesson = ""
    suppressed_base_arguments = {
        "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color",
        "--force-color", "--skip-checks",
    }  # fmt: skip

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        kwargs.setdefault("formatter_class", PlainHelp)
        kwargs.setdefault("epilog", dedent(self.lesson).strip())
        return super().create_parser(prog_name, subcommand, **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="answer as JSON, for programs")

    def answer(self, options: dict[str, Any]) -> Answer:
        """Do the work.

        Raises:
            MisuseError, LedgerError: in words; nothing else for anything a caller can write.
        """
        raise NotImplementedError

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            answer = self.answer(options)
        except (
            LedgerError, DatabaseError, InterfaceError, CommandError, UnicodeEncodeError,
        ) as error:  # fmt: skip
            self._fail(error, as_json=options["json"])
        self.show(answer, as_json=options["json"])
        if answer.finding:
            sys.exit(FINDING)

    def show(self, answer: Answer, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(as_line(answer.value))
        elif answer.text:
            self.stdout.write(answer.text)

    def _fail(self, error: Exception, *, as_json: bool) -> NoReturn:
        told = told_error(error)
        if as_json:
            value = {"error": str(told), "field": getattr(error, "field", "")}
            self.stdout.write(as_line(value))
        raise told from error


def told_error(error: Exception) -> CommandError:
    """What a person at a shell is told, with the exit code that a script sees.

    Raises:
        the error itself: it is no one's input but a defect, and its traceback is wanted.
    """
    match error:
        case CommandError():
            return CommandError(str(error), returncode=error.returncode)
        case InvalidValueError() | NotFoundError() | NotMigratedError():
            return CommandError(str(error), returncode=MISUSE)
        case UnicodeEncodeError():  # a shell hands on whatever bytes it was given
            return CommandError("An argument is not UTF-8 text.", returncode=MISUSE)
        case LedgerError():
            return CommandError(str(error), returncode=FINDING)
        case ProgrammingError() if "does not exist" in str(error):
            return CommandError(str(NotMigratedError()), returncode=MISUSE)
        case OperationalError() | InterfaceError():
            return CommandError(f"The database does not answer: {error}", returncode=NO_DATABASE)
        case _:
            raise error


def as_line(value: Json) -> str:
    """A value as one line of JSON; moments in ISO 8601."""
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)


def at_least_one(text: str) -> int:
    """An option's whole number from 1 to 100000.

    Raises:
        argparse.ArgumentTypeError: saying so.
    """
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 100000")
    return int(text)


def person_at_shell() -> str:
    """Who types, for the trail: the login name of this process, marked as a shell's."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        name = "unnamed"
    return f"shell:{name}"[:100]
