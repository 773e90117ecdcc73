"""What is older than the policy: what would go, and letting it go, batch by batch.

Runs go with everything that hangs on them (`ledgers.retention`); reports of providers that nobody
could match to a delivery go by their age alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet

from delivery.models import Receipt
from ledgers import retention
from ledgers.canonical import storable
from ledgers.clock import database_now
from ledgers.errors import InvalidValueError
from ledgers.models import Purge
from ledgers.trail import log

DAY_S = 86_400.0
SWEPT_AT_ONCE = 2_000
KEPT_SHOWN = 20


@dataclass(slots=True)
class Plan:
    """What would go now, or went. `kept`: the first runs that stay although they are old enough.

    `whole`: nothing more than this is left to look at.
    """

    runs: int = 0
    deliveries: int = 0
    unmatched: int = 0
    kept_runs: int = 0
    kept: list[tuple[str, str]] = field(default_factory=list)
    receipts: list[int] = field(default_factory=list)
    whole: bool = True

    def keep(self, kept: Sequence[tuple[str, str]]) -> None:
        """Count them, and remember the first."""
        self.kept_runs += len(kept)
        self.kept += kept[: KEPT_SHOWN - len(self.kept)]


def policy_s() -> float:
    """Seconds for which everything is kept, as the installation says."""
    return settings.COUNTERFOIL_RETENTION_DAYS * DAY_S


def plan(limit: int | None = None) -> Plan:
    """What would go now; reads only.

    Args:
        limit: look at about so many runs at most.
    """
    made = Plan()
    for batch in retention.batches(policy_s()):
        if limit is not None and made.runs + made.kept_runs >= limit:
            made.whole = False
            break
        made.runs += len(batch.runs)
        made.deliveries += batch.deliveries
        made.keep(batch.kept)
    made.unmatched = _old_unmatched().count()
    return made


def purge(actor: str, reason: str, limit: int | None = None) -> Iterator[Plan]:
    """Let go what may, each batch in a transaction of its own; gives the sums after each.

    What is not sealed yet is kept: the caller seals first.

    Args:
        actor: who decided so.
        reason: why, for the trail.
        limit: at most so many runs.

    Raises:
        InvalidValueError: there is no reason.
    """
    words = checked_reason(reason)
    done = Plan()
    for batch in retention.batches(policy_s()):
        left = len(batch.runs) if limit is None else limit - done.runs
        done.keep(batch.kept)
        if batch.runs and left > 0:
            _let_go(batch.runs[:left], done, actor, words)
        if left < len(batch.runs):
            done.whole = False
        yield done
        if not done.whole:
            return
    done.unmatched = _sweep(actor, words)
    yield done


def checked_reason(reason: str) -> str:
    """Raises `InvalidValueError` if it says nothing."""
    words = storable(reason.strip(), 500)
    if not words:
        raise InvalidValueError("reason", "is empty", "why these records may go; it is kept")
    return words


def _let_go(runs: tuple[int, ...], done: Plan, actor: str, reason: str) -> None:
    made, kept = retention.purge(runs, policy_s(), actor, reason)
    done.keep(kept)
    done.runs += sum(len(one.runs) for one in made)
    done.receipts += [one.pk for one in made]
    done.deliveries += _deliveries(made)


def _deliveries(made: list[Purge]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM ledgers_deliverytombstone d JOIN ledgers_runtombstone r"
            " ON r.id = d.run_id WHERE r.purge_id = ANY(%s)",
            [[one.pk for one in made]],
        )
        return int(cursor.fetchone()[0])


def _old_unmatched() -> QuerySet[Receipt]:
    """Reports that never were about a delivery of ours, bodies included."""
    line = database_now() - timedelta(seconds=policy_s())
    return Receipt.objects.filter(delivery=None, received_at__lt=line)


def _sweep(actor: str, reason: str) -> int:
    """Remove them, some at a time, each lot with its event."""
    total = 0
    while ids := list(_old_unmatched().order_by("pk").values_list("pk", flat=True)[:SWEPT_AT_ONCE]):
        with transaction.atomic():
            number, _ = Receipt.objects.filter(pk__in=ids, delivery=None).delete()
            log("purge_reports", actor, detail={"reports": number, "reason": reason})
        total += number
    return total
