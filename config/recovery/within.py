"""What is done and looked at inside a copy: a process of its own that takes orders.

Reads one JSON object per line, does its `act`, and answers with one line. It holds no connection
between two of them, so that the database may be dropped and restored meanwhile.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import django
from django.db import connections

Answer = Any


def channels(ways: Sequence[Mapping[str, Any]]) -> None:
    """Make these channels, or set them to this: slug and fields."""
    from ledgers.models import Channel, Credential  # noqa: PLC0415  needs the app registry

    credential, _ = Credential.objects.get_or_create(
        name="restore-drill", defaults={"identity": "counterfoil", "destination_rules": ["*"]}
    )
    for way in ways:
        fields = {k: v for k, v in way.items() if k != "slug"}
        Channel.objects.update_or_create(
            slug=way["slug"], defaults=fields | {"credential": credential}
        )


def record(run_id: str, messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """An agent that never looks whether this was done before; the identities it arrived at."""
    from delivery import agent  # noqa: PLC0415
    from ledgers.models import Delivery  # noqa: PLC0415

    with agent.run(run_id, agent="restore-drill") as run:
        step = run.step("tell")
        owed = [agent.Message(**one) for one in messages]
        step.complete({"told": len(owed)}, owed)
    rows = Delivery.objects.filter(message__step__run__run_id=run_id).order_by("pk")
    return [str(row.delivery_id) for row in rows]


def account() -> dict[str, Answer]:
    """How everything stands: the hold, each delivery, and which invariants are broken."""
    from ledgers import verify  # noqa: PLC0415
    from ledgers.models import Delivery, Installation  # noqa: PLC0415

    here = Installation.objects.get()
    rows = Delivery.objects.select_related("message__channel", "message__step__run").order_by("pk")
    return {
        "held": here.held_at is not None,
        "reason": here.held_reason,
        "epoch": here.epoch,
        "namespace": str(here.namespace),
        "broken": [one.name for one in verify.broken(verify.verify())],
        "deliveries": [
            {
                "id": str(row.delivery_id),
                "run": row.message.step.run.run_id,
                "channel": row.message.channel.slug,
                "to": row.destination,
                "status": row.status,
                "cause": row.cause,
                "attempts": row.attempt_count,
                "rewound": row.rewound_at is not None,
            }
            for row in rows
        ],
    }


ACTS: dict[str, Callable[..., Answer]] = {
    "channels": channels,
    "record": record,
    "account": account,
}


def main() -> None:
    """Until the end of standard input."""
    django.setup()
    for line in sys.stdin:
        said = json.loads(line)
        answer = ACTS[said.pop("act")](**said)
        connections.close_all()
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
