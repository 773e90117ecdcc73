"""What tests start from: channels, recorded work, rows whose lease is over, and a worker's shift.

Everything is made as the product makes it; nothing here writes a ledger row of its own.
"""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from delivery import agent
from delivery.worker import Worker
from ledgers.canonical import Json
from ledgers.models import Channel, Credential, Delivery

SENDER = "tests.delivery.senders.send"


def make_channel(
    slug: str = "alerts",
    *,
    adapter: str = "function",
    settings: dict[str, Json] | None = None,
    rules: Sequence[str] = ("*",),
    secret_ref: str = "",
    **fields: Any,
) -> Channel:
    """A channel that calls `tests.delivery.senders.send`, and tries again at once."""
    credential = Credential.objects.create(
        name=f"{slug}-key", destination_rules=list(rules), secret_ref=secret_ref
    )
    usual = {"retry_schedule": [0], "look_up_schedule": [], "deadline_s": 5, "margin_s": 1}
    return Channel.objects.create(
        slug=slug,
        adapter=adapter,
        credential=credential,
        settings={"path": SENDER} if settings is None else settings,
        **usual | fields,
    )


def message(to: Sequence[str] = ("tg:1001",), content: Json = "hello", **fields: Any) -> Any:
    """A message named `digest` through the channel `alerts`."""
    return agent.Message(
        **{"name": "digest", "channel": "alerts", "to": list(to), "content": content} | fields
    )


def record(
    to: Sequence[str] = ("tg:1001",),
    content: Json = "hello",
    *,
    run_id: str = "run-1",
    step_id: str = "write",
    **fields: Any,
) -> list[Delivery]:
    """Record one completed step with one message, and give its deliveries in order."""
    with agent.run(run_id, agent="tester") as run:
        run.step(step_id).complete({"done": True}, [message(to, content, **fields)])
    return deliveries(run_id)


def deliveries(run_id: str = "run-1") -> list[Delivery]:
    """All deliveries of a run, in the order of their recording."""
    return list(Delivery.objects.filter(message__step__run__run_id=run_id).order_by("pk"))


def delivery(destination: str = "tg:1001", run_id: str = "run-1", part: int = 1) -> Delivery:
    """One delivery as it is now."""
    return Delivery.objects.get(
        message__step__run__run_id=run_id, destination=destination, part=part, generation=1
    )


def sweep(concurrency: int = 4, seconds: float = 10) -> Worker:
    """One worker of its own name works what is due, at most for so long, and ends."""
    worker = Worker("shift", concurrency=concurrency)
    worker.run_shift(seconds)
    return worker


def make_due(**filters: Any) -> None:
    """Let the time pass that these deliveries wait for, leases included."""
    ids = list(Delivery.objects.filter(**filters).values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ledgers_outboxitem SET due_at = clock_timestamp() - interval '1 second'"
            " WHERE delivery_id = ANY(%s)",
            [ids],
        )


def count_rows() -> dict[str, int]:
    """How many rows each table of the product has."""
    tables = [t for t in connection.introspection.table_names() if t.startswith(("ledgers", "del"))]
    with connection.cursor() as cursor:
        counts = {}
        for table in tables:
            cursor.execute(f'SELECT count(*) FROM "{table}"')
            counts[table] = cursor.fetchone()[0]
        return counts
