"""Typing a command, within this process: arguments in, output and exit code out."""

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from typing import Any
from unittest import mock

from django.core.management import get_commands, load_command_class

from ledgers.management.command import LedgerCommand


@dataclass(frozen=True)
class Typed:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def load(name: str) -> LedgerCommand:
    """The command of this name."""
    command = load_command_class(get_commands()[name], name)
    assert isinstance(command, LedgerCommand)
    return command


def typed(name: str, *words: str, stdin: str | bytes = "") -> Typed:
    """Run `manage.py NAME WORDS...` as its own program would, but here."""
    raw = stdin if isinstance(stdin, bytes) else stdin.encode()
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw))),
        # It would close the test's own connection.
        mock.patch("django.db.connections.close_all"),
    ):
        try:
            load(name).run_from_argv(["manage.py", name, "--skip-checks", *words])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return Typed(code, out.getvalue(), err.getvalue())
