"""Time passes by making everything older. Tests never wait for a lease, an hour or a week."""

from django.db import connection, transaction


def pass_s(seconds: float) -> None:
    """Let so many seconds pass for every row of both ledgers.

    The triggers that keep the record from being changed are off for this one transaction: the
    tests' own server lets its superuser do so, production's role cannot.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for table, columns in _moments().items():
            shifts = ", ".join(f'"{c}" = "{c}" - make_interval(secs => %(s)s)' for c in columns)
            cursor.execute(f'UPDATE "{table}" SET {shifts}', {"s": seconds})


def _moments() -> dict[str, list[str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, array_agg(column_name::text) FROM information_schema.columns"
            " WHERE table_schema = 'public' AND data_type = 'timestamp with time zone'"
            " AND (table_name LIKE 'ledgers\\_%%' OR table_name LIKE 'delivery\\_%%')"
            " GROUP BY table_name"
        )
        return dict(cursor.fetchall())
