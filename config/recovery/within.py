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


def begin() -> None:
    """This host was there when the installation began, as after the first migration."""
    from delivery.origin import note_birth  # noqa: PLC0415  needs the app registry

    note_birth()


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
    """How everything stands: the hold, and each delivery. Quick enough to be asked for ever."""
    from ledgers.models import Delivery, Installation  # noqa: PLC0415

    here = Installation.objects.get()
    rows = Delivery.objects.select_related("message__channel", "message__step__run").order_by("pk")
    return {
        "held": here.held_at is not None,
        "reason": here.held_reason,
        "rewinding": here.rewound_to is not None,
        "epoch": here.epoch,
        "namespace": str(here.namespace),
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


def standing() -> dict[str, Answer]:
    """How everything stands, in numbers: for ledgers of any size."""
    from django.db.models import Count  # noqa: PLC0415

    from ledgers import verify  # noqa: PLC0415
    from ledgers.models import Delivery, Installation  # noqa: PLC0415

    rows = Delivery.objects.values_list("status").annotate(Count("pk")).order_by("status")
    return {
        "epoch": Installation.objects.get().epoch,
        "statuses": dict(rows),
        "broken": [one.name for one in verify.broken(verify.verify())],
    }


def release(reason: str) -> None:
    """A person lets work go on after the restore, once all that was open is reckoned with."""
    from delivery.lifting import lift  # noqa: PLC0415
    from ledgers.models import Installation  # noqa: PLC0415

    lift(Installation.objects.get().held_at, reason, "restore-drill")


def judge() -> dict[str, Answer]:
    """What a worker that starts here would find. Writes nothing."""
    from delivery.origin import look  # noqa: PLC0415
    from delivery.provenance import Finding  # noqa: PLC0415

    verdict = look().verdict
    return {
        "held": verdict.finding in {Finding.RESTORED, Finding.UNSURE},
        "empty": verdict.finding == Finding.NEW,
        "why": verdict.why,
    }


ACTS: dict[str, Callable[..., Answer]] = {
    act.__name__: act for act in (begin, channels, record, account, standing, release, judge)
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
