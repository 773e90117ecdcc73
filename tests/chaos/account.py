"""What a run came to: every row and every submission accounted for, after the faults have ended."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from delivery.recheck import Recheck
from ledgers import verify
from ledgers.models import Attempt, Delivery, Message, OutboxItem, Run, Step
from ledgers.states import NOT_SENT, DeliveryStatus
from tests.chaos.plan import Work, run_id_of, work_of
from tests.ground.crew import Member

SHOWN = 5  # offenders named per claim
# Outcomes after which the recipient must have had the whole submission, and those after which it
# cannot have had it.
ANSWERED = frozenset({"accepted", "refused", "deferred", "in_flight", "mismatch"})
NEVER_LEFT = frozenset({"not_tried"})


@dataclass(slots=True)
class Account:
    """The counts, and the claims that do not hold. `residual`: duplicates that are explained."""

    statuses: Counter[str] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    attempts: int = 0
    submissions: int = 0
    effects: int = 0
    residual: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def claim(self, offenders: Iterable[object], promise: str) -> None:
        """Nothing may offend against a promise."""
        found = [str(one) for one in offenders]
        if found:
            more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
            self.broken.append(f"{promise}: {'; '.join(found[:SHOWN])}{more}")


def open_rows() -> int:
    """What a machine still has to do."""
    return OutboxItem.objects.count()


def account(
    seed: int, progress: Mapping[str, int], arrived: Sequence[Mapping[str, Any]],
    workers: Iterable[Member],
) -> Account:  # fmt: skip
    """Count everything, and judge it.

    Args:
        seed: what the agents' work follows from.
        progress: by agent, the last run that it has ended.
        arrived: every complete submission, as the recipient kept it.
        workers: who was frozen when.
    """
    done = Account()
    _count(done)
    for verdict in verify.broken(verify.verify()):
        done.claim(verdict.offenders, verdict.promise)
    done.claim((one.why for one in Recheck().differences()), "decisions are reproduced")
    done.claim(_forgotten_work(seed, progress), "a completed step owes what was planned for it")
    done.claim(_left_open(), "everything comes to rest")
    _compare(done, arrived, [freeze for one in workers for freeze in one.freezes])
    return done


def _count(done: Account) -> None:
    done.statuses.update(str(one) for one in Delivery.objects.values_list("status", flat=True))
    done.runs.update(str(one) for one in Run.objects.values_list("status", flat=True))
    done.steps = Step.objects.filter(status="completed").count()


def _left_open() -> Iterator[str]:
    still_open = (DeliveryStatus.PENDING, DeliveryStatus.SUBMITTING)
    for row in Delivery.objects.filter(status__in=still_open):
        yield f"{row.destination} is {row.status} ({row.cause})"
    for row in Delivery.objects.filter(status="unknown").exclude(message__channel__slug="blind"):
        yield f"{row.destination} is unknown although it could be settled ({row.cause})"
    for one in OutboxItem.objects.select_related("delivery"):
        yield f"{one.delivery.destination} is in the queue"
    for step in Step.objects.filter(status="completed").exclude(announces=[]):
        told = set(step.messages.values_list("name", flat=True))
        if lacking := set(step.announces) - told:
            yield f"{step} owes {lacking}"


# --- The work ------------------------------------------------------------------------------------


def _forgotten_work(seed: int, progress: Mapping[str, int]) -> Iterator[str]:
    recorded = _recorded()
    standing = dict(Run.objects.values_list("run_id", "status"))
    completed = set(Step.objects.filter(status="completed").values_list("run__run_id", "step_id"))
    for agent, last in progress.items():
        for number in range(last + 1):
            run_id = run_id_of(agent, number)
            if standing.get(run_id) not in {"completed", "crash_loop"}:
                yield f"run {run_id} is {standing.get(run_id, 'unheard of')}"
            for work in work_of(seed, agent, number):
                if (run_id, work.step_id) not in completed:
                    if standing.get(run_id) == "completed":
                        yield f"{run_id} {work.step_id} was not done"
                elif recorded.get((run_id, work.step_id)) != _planned(work):
                    yield f"{run_id} {work.step_id} owes something else"


Owing = dict[tuple[str, str], set[str]]


def _planned(work: Work) -> Owing:
    return {(one.name, one.channel): set(one.to) for one in work.messages}


def _recorded() -> dict[tuple[str, str], Owing]:
    """By run and step: the destinations of each message."""
    recorded: dict[tuple[str, str], Owing] = defaultdict(lambda: defaultdict(set))
    for run_id, step_id, name, channel, to in Message.objects.values_list(
        "step__run__run_id", "step__step_id", "name", "channel__slug", "deliveries__destination"
    ):
        recorded[run_id, step_id][name, channel].add(to)
    return {place: dict(owing) for place, owing in recorded.items()}


# --- The other side ------------------------------------------------------------------------------


def _compare(
    done: Account,
    arrived: Sequence[Mapping[str, Any]],
    freezes: Sequence[tuple[int, float, float]],
) -> None:
    """What the ledger says of each delivery against what its recipient had."""
    submissions = Counter(one["key"] for one in arrived)
    effects = Counter(one["key"] for one in arrived if one["effect"])
    done.submissions, done.effects = submissions.total(), effects.total()
    tried: defaultdict[int, list[Attempt]] = defaultdict(list)
    for attempt in Attempt.objects.order_by("number"):
        tried[attempt.delivery_id].append(attempt)
        done.attempts += 1
    rows = {row.idempotency_key: row for row in Delivery.objects.select_related("message__channel")}
    done.claim(set(submissions) - set(rows), "what arrives is on record")
    disagreed: list[str] = []
    for key, row in rows.items():
        attempts = tried[row.pk]
        wrong = _complaints(row, attempts, submissions[key], effects[key])
        told = [f"{row.destination}: {one}" for one in wrong]
        explained = bool(told) and _is_residual(row, attempts, freezes)
        (done.residual if explained else disagreed).extend(told)
    done.claim(disagreed, "both sides agree")


def _complaints(
    row: Delivery, attempts: Sequence[Attempt], submissions: int, effects: int
) -> Iterator[str]:
    answered = sum(one.outcome in ANSWERED for one in attempts)
    may_have_left = sum(one.outcome not in NEVER_LEFT for one in attempts)
    if effects > 1:
        yield f"acted on {effects} times"
    if row.status == DeliveryStatus.DELIVERED and not effects:
        yield "claimed delivered, and nothing was acted on"
    if row.status in NOT_SENT and effects:
        yield f"claimed {row.status}, and it was acted on"
    if not answered <= submissions <= may_have_left:
        yield f"{submissions} submissions, {answered} answered of {may_have_left} tried"


def _is_residual(
    row: Delivery, attempts: Sequence[Attempt], freezes: Sequence[tuple[int, float, float]]
) -> bool:
    """No key covered it, and a worker was frozen while it had an attempt of it open."""
    if row.message.channel.slug == "keyed":
        return False
    return any(
        f":{pid}:" in one.worker
        and began <= one.lease_until.timestamp()
        and one.opened_at.timestamp() <= ended
        for one in attempts
        for pid, began, ended in freezes
    )
