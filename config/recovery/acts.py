"""What is done and looked at inside a copy of an installation, by name.

Each takes and gives what JSON can hold. `config.recovery.within` runs them, in a process that is
connected to the copy.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Count

from delivery import agent, switches
from delivery.lifting import lift
from delivery.origin import look, note_birth
from delivery.provenance import Finding
from ledgers import verify
from ledgers.models import Channel, Credential, Delivery, Installation
from reviews import decisions
from reviews.kinds import Kind
from reviews.people import person_of
from reviews.restored import select_group, standing
from reviews.wishes import Wish

Answer = Any
ACTOR = "restore-drill"


def begin() -> None:
    """This host was there when the installation began, as after the first migration."""
    note_birth()


def channels(ways: Sequence[Mapping[str, Any]]) -> None:
    """Make these channels, or set them to this: slug and fields."""
    credential, _ = Credential.objects.get_or_create(
        name=ACTOR, defaults={"identity": "counterfoil", "destination_rules": ["*"]}
    )
    for way in ways:
        fields = {k: v for k, v in way.items() if k != "slug"}
        Channel.objects.update_or_create(
            slug=way["slug"], defaults=fields | {"credential": credential}
        )


def record(run_id: str, messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """An agent that never looks whether this was done before; the identities it arrived at."""
    with agent.run(run_id, agent=ACTOR) as run:
        step = run.step("tell")
        owed = [agent.Message(**one) for one in messages]
        step.complete({"told": len(owed)}, owed)
    rows = Delivery.objects.filter(message__step__run__run_id=run_id).order_by("pk")
    return [str(row.delivery_id) for row in rows]


def account() -> dict[str, Answer]:
    """How everything stands: the hold, and each delivery. Quick enough to be asked for ever."""
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


def sums() -> dict[str, Answer]:
    """How everything stands, in numbers: for ledgers of any size."""
    rows = Delivery.objects.values_list("status").annotate(Count("pk")).order_by("status")
    return {
        "epoch": Installation.objects.get().epoch,
        "statuses": dict(rows),
        "broken": [one.name for one in verify.broken(verify.verify())],
    }


def pause(channel: str, reason: str) -> None:
    """Nothing goes out through a channel."""
    switches.pause(Channel.objects.get(slug=channel), reason, ACTOR)


def resume(channel: str, reason: str) -> None:
    """It goes on."""
    row = Channel.objects.get(slug=channel)
    switches.resume(row, row.paused_at, reason, ACTOR)


def agree(channel: str, reason: str) -> int:
    """Two people release what a restore put in doubt on a channel: it was not sent. How many."""
    count = 0
    for group in standing().groups:
        if group.channel != channel or not group.open:
            continue
        draft = select_group(_person("triager"), group.name)
        rows = list(draft.rows.select_related("delivery"))
        typed = rows[0].delivery.destination if len(rows) == 1 else str(len(rows))
        wish = Wish(Kind.RELEASE, reason=reason, note=reason, typed=typed)
        asked = decisions.request(_person("triager"), wish, draft.pk)
        decisions.approve(_person("approver"), asked.pk, reason)
        count += len(rows)
    return count


def _person(role: str) -> Any:

    user, made = User.objects.get_or_create(username=f"{ACTOR}-{role}")
    if made:
        user.groups.add(Group.objects.get(name=role))
    return person_of(user)


def release(reason: str) -> None:
    """A person lets work go on after the restore, once all that was open is reckoned with."""
    lift(Installation.objects.get().held_at, reason, ACTOR)


def judge() -> dict[str, Answer]:
    """What a worker that starts here would find. Writes nothing."""
    verdict = look().verdict
    return {
        "held": verdict.finding in {Finding.RESTORED, Finding.UNSURE},
        "empty": verdict.finding == Finding.NEW,
        "why": verdict.why,
    }


ACTS: dict[str, Callable[..., Answer]] = {
    act.__name__: act
    for act in (
        begin, channels, record, account, sums, pause, resume, agree, release, judge,
    )
}  # fmt: skip
