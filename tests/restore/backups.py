"""A backup of the test's database, and putting it back in place: the same instance, older.

As `pg_restore --clean` of one database does it: every row and every sequence is as it was, and
system, timeline, oid and name are what they were. Effects at the recipient stay.
"""

from dataclasses import dataclass

from django.db import connection

from tests.flushing import Fresh

SEQUENCES = (
    "SELECT schemaname || '.' || sequencename, last_value FROM pg_sequences"
    " WHERE last_value IS NOT NULL"
)


@dataclass(frozen=True)
class Backup:
    """Rows and sequences of one moment."""

    rows: Fresh
    sequences: dict[str, int]

    @classmethod
    def now(cls) -> "Backup":
        with connection.cursor() as cursor:
            cursor.execute(SEQUENCES)
            sequences = dict(cursor.fetchall())
        return cls(Fresh.now(), sequences)

    def restore(self) -> None:
        """Put it back; every connection is cut, as a restore would."""
        self.rows.restore()
        with connection.cursor() as cursor:
            for name, value in self.sequences.items():
                cursor.execute("SELECT setval(%s, %s)", [name, value])
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        connection.close()
