"""What a claim costs as the ledger grows, with and without an old snapshot held open.

The outbox holds the same number of due items at every size; only history grows. A claim leases 50.
Buffers are PostgreSQL's own count for one claim, per leased row, so they can be compared between
machines. An old snapshot (somebody's forgotten transaction) keeps dead queue rows from being
removed while the outbox turns over.

    .venv/bin/python benchmarks/claim.py [--rows 10000,100000,1000000] [--json]
"""

import argparse
import json
import statistics
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import installation

installation.fresh()

from django.db import connection, connections, transaction

from ledgers import outbox
from ledgers.models import Delivery, Message, Run, Step

BATCH = 50
CLAIMS = 100
DUE = BATCH * CLAIMS
TURNOVERS = 4  # how often the whole outbox is replaced while the old snapshot is open


def main() -> None:
    arguments = _arguments()
    message = _message()
    results = []
    for rows in sorted(arguments.rows):
        _grow_history(message, rows)
        results.append(_measure(message, rows))
    if arguments.json:
        print(json.dumps(results))
    else:
        _show(results)


def _arguments() -> argparse.Namespace:
    def sizes(text: str) -> list[int]:
        return [int(float(part)) for part in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=sizes, default=[10**4, 10**5, 10**6], help="ledger sizes")
    parser.add_argument("--json", action="store_true", help="print one object per size")
    return parser.parse_args()


def _message() -> Message:
    channel = installation.channel("claim", "simulator", {})
    run, _ = Run.objects.get_or_create(run_id=f"claim-{time.time_ns()}", defaults={"agent": "b"})
    step = Step.objects.create(
        run=run, step_id="s", input_hash="-", status="completed", result="null", result_hash="-",
        finished_at=run.started_at,
    )  # fmt: skip
    return Message.objects.create(
        step=step, name="m", channel=channel, payload="null", payload_hash="-", contract={},
        destinations=1,
    )  # fmt: skip


def _grow_history(message: Message, rows: int) -> None:
    """Add delivered rows until the ledger has this many."""
    missing = rows - Delivery.objects.filter(status="delivered").count()
    _insert(message, max(0, missing), "delivered")
    _sql("VACUUM ANALYZE ledgers_delivery")


def _insert(message: Message, count: int, status: str) -> None:
    tag = uuid.uuid4().hex[:16]
    ended = "clock_timestamp()" if status == "delivered" else "NULL"
    _sql(
        f"""
        INSERT INTO ledgers_delivery (delivery_id, message_id, destination, part, generation,
            status, cause, body_hash, idempotency_key, recognizer, provider_message_id,
            attempt_count,
            created_at, acknowledged_at, finished_at, decision, fence, row_version)
        SELECT gen_random_uuid(), %s, 'room:{tag}-' || n, 1, 1, '{status}', '', 'h', '{tag}' || n,
            'dlv{tag}' || n, '', 0, clock_timestamp(), {ended}, {ended}, '', 0, 1
        FROM generate_series(1, %s) AS n
        """,
        [message.pk, count],
    )


def _fill_outbox(message: Message) -> None:
    """Make the outbox hold exactly the due items of pending rows."""
    missing = DUE - Delivery.objects.filter(status="pending").count()
    _insert(message, max(0, missing), "pending")
    _sql("DELETE FROM ledgers_outboxitem")
    _sql(
        "INSERT INTO ledgers_outboxitem (delivery_id, channel_id, due_at, leased)"
        " SELECT id, %s, clock_timestamp() - interval '1 minute', false FROM ledgers_delivery"
        " WHERE status = 'pending' LIMIT %s",
        [message.channel_id, DUE],
    )


def _measure(message: Message, rows: int) -> dict[str, Any]:
    _fill_outbox(message)
    _sql("VACUUM ANALYZE ledgers_outboxitem")
    plan, buffers = _explain(message.channel_id)
    times = _claim_all(message.channel_id)
    with _old_snapshot():
        for _ in range(TURNOVERS):
            _fill_outbox(message)
            _claim_all(message.channel_id)
        _fill_outbox(message)
        _, old_buffers = _explain(message.channel_id)
        old_times = _claim_all(message.channel_id)
    return {
        "rows": rows,
        "buffers_per_row": round(buffers, 1),
        "p50_ms": _percentile(times, 50),
        "p99_ms": _percentile(times, 99),
        "old_snapshot_buffers_per_row": round(old_buffers, 1),
        "old_snapshot_p50_ms": _percentile(old_times, 50),
        "old_snapshot_p99_ms": _percentile(old_times, 99),
        "plan": plan,
    }


def _explain(channel_id: int) -> tuple[list[str], float]:
    """The claim's plan, as node names, and its buffers per leased row; then undone."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {outbox._CLAIM}", [[channel_id], [BATCH]]
        )
        (plans,) = cursor.fetchone()
        transaction.set_rollback(True)
    top = plans[0]["Plan"]
    return list(_nodes(top)), (top["Shared Hit Blocks"] + top["Shared Read Blocks"]) / BATCH


def _nodes(node: dict[str, Any]) -> Iterator[str]:
    where = node.get("Index Name") or node.get("Relation Name") or ""
    yield f"{node['Node Type']} {where}".strip()
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def _claim_all(channel_id: int) -> list[float]:
    times = []
    for _ in range(CLAIMS):
        began = time.perf_counter()
        claimed = outbox.claim({channel_id: BATCH})
        times.append((time.perf_counter() - began) * 1000)
        if len(claimed) != BATCH:
            sys.exit(f"a claim leased {len(claimed)} items")
    return times


@contextmanager
def _old_snapshot() -> Iterator[None]:
    other = connections.create_connection("default")
    with other.cursor() as cursor:
        cursor.execute("SET idle_in_transaction_session_timeout = 0")
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT count(*) FROM ledgers_installation")
        yield
        cursor.execute("ROLLBACK")
    other.close()


def _percentile(times: list[float], percent: int) -> float:
    return round(statistics.quantiles(times, n=100)[percent - 1], 2)


def _sql(statement: str, parameters: list[Any] | None = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def _show(results: list[dict[str, Any]]) -> None:
    print(f"a claim of {BATCH} of {DUE} due items")
    print(f"{'ledger rows':>12} {'buffers/row':>12} {'p50 ms':>8} {'p99 ms':>8}   old snapshot:")
    for r in results:
        print(
            f"{r['rows']:>12,} {r['buffers_per_row']:>12} {r['p50_ms']:>8} {r['p99_ms']:>8}"
            f"   {r['old_snapshot_buffers_per_row']:>12} {r['old_snapshot_p50_ms']:>8}"
            f" {r['old_snapshot_p99_ms']:>8}"
        )
    first, last = results[0], results[-1]
    growth = last["buffers_per_row"] / first["buffers_per_row"]
    print(f"buffers per row, {last['rows']:,} rows against {first['rows']:,}: {growth:.2f} times")
    print("plan: " + " > ".join(last["plan"]))


if __name__ == "__main__":
    main()
