"""`manage.py restore`: a backup, into a database in which there is nothing."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import connection

from config.recovery.backup import moment_now, readable
from config.recovery.errors import RecoveryError
from config.recovery.tools import tools_for
from delivery.mark import folder
from ledgers.management.command import Answer, LedgerCommand
from ledgers.management.words import moment, pairs

THEN = """\
Then, in this order (docs/operating.md, Backup and restore):
  1. stop whatever still runs on the old database, for good
  2. manage.py migrate
  3. start one worker: it holds everything, and reckons with what the backup has forgotten
  4. open Restore hold in the console, or: manage.py release --reason "looking" """


class Command(LedgerCommand):
    help = (
        "Put a backup into the database that this installation is set to, which must be empty:\n"
        "no ledger is ever overwritten. All of it, or nothing. The first worker notices that it\n"
        "was restored, and holds everything. Leave this host's mark where it is."
    )
    lesson = """
        Exit codes: 0 restored · 1 not restored, and the database is as it was
                    2 the file is no backup · 3 the database does not answer

        An empty database: on a server of your own, CREATE DATABASE, and DATABASE_URL leads there.
        The embedded one: make stop, then move the folder postgres in the data folder elsewhere.

        Example:
          manage.py restore /backups/counterfoil-monday.dump
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, help="made by manage.py backup")

    def answer(self, options: dict[str, Any]) -> Answer:
        file = readable(options["file"], "file")
        tools = tools_for(connection)
        _refuse_unless_empty()
        tools.restore(file, connection.settings_dict["NAME"])
        stood = moment_now()
        facts = pairs(
            [
                ("restored", file),
                ("installation", stood.namespace),
                ("epoch", stood.epoch),
                ("deliveries", f"{stood.deliveries:,}"),
                ("newest attempt", moment(stood.newest_attempt_at) or "none"),
                ("mark", folder()),
            ]
        )
        value = {"restored": str(file), "deliveries": stood.deliveries, "epoch": stood.epoch}
        return Answer(value, f"{facts}\n\n{THEN.rstrip()}")


def _refuse_unless_empty() -> None:
    """What is there may be the only trace of something that was sent."""
    tables = connection.introspection.table_names()
    if tables:
        raise RecoveryError(
            f"The database {connection.settings_dict['NAME']} is not empty: it has"
            f" {len(tables)} tables. A ledger is never overwritten: keep it, since it may be the"
            " only trace of what was sent, and restore into a new database."
        )
