"""`manage.py backup`: both ledgers in one file."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from config.recovery.backup import Backup, back_up, usual_file
from delivery.management.commands.deliver import refuse_unmigrated
from delivery.mark import folder
from ledgers.clock import database_now
from ledgers.management.command import Answer, LedgerCommand
from ledgers.management.words import moment, pairs

NOT_IN_IT = (
    "Not in it: SECRET_KEY, .env, and the secrets that credentials refer to. Keep them elsewhere."
)
MARK = (
    "Not in it either: what this host knows of the ledger, in {}. Never put that back together with"
    " the database: by it workers notice that the database is older, and hold everything."
)
CONTENTS = "Contents of messages are in it: keep it where only those may read who may read them."


class Command(LedgerCommand):
    help = (
        "Write a backup of the database: one file, readable by this user only, made whole or not\n"
        "at all. Workers go on meanwhile. `manage.py restore` restores it; docs/operating.md says\n"
        "in what order. `manage.py restore_drill --backup FILE` proves that it can be."
    )
    lesson = """
        Exit codes: 0 made · 1 not made, and nothing is left of it · 2 the database is not migrated
                    3 the database does not answer

        Examples:
          manage.py backup
          manage.py backup --out /backups/counterfoil-monday.dump
          manage.py backup --json
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--out", type=Path, help="the file; none that exists (in the data folder's backups/)"
        )

    def answer(self, options: dict[str, Any]) -> Answer:
        refuse_unmigrated()
        made = back_up((options["out"] or usual_file(database_now())).absolute())
        return Answer(_as_json(made), _told(made))


def _as_json(made: Backup) -> dict[str, Any]:
    return {
        "file": str(made.file),
        "bytes": made.size,
        "sha256": made.sha256,
        **asdict(made.moment),
        "mark": str(folder()),
    }


def _told(made: Backup) -> str:
    stood = made.moment
    facts = pairs(
        [
            ("file", made.file),
            ("size", f"{made.size:,} bytes"),
            ("sha256", made.sha256),
            ("moment", moment(stood.at)),
            ("installation", stood.namespace),
            ("epoch", stood.epoch),
            ("deliveries", f"{stood.deliveries:,}"),
            ("write-ahead count", f"{stood.write_ahead:,}"),
            ("newest attempt", stood.newest_attempt or "none yet"),
            ("schema", stood.migration),
        ]
    )
    return f"{facts}\n\n{NOT_IN_IT}\n{MARK.format(folder())}\n{CONTENTS}"
