"""A ledger after a restore: what was sent, what was forgotten, and what people do about it."""

from collections.abc import Callable, Sequence

from django.db import connection

from delivery import lifting, mark
from ledgers.models import Delivery, Installation
from reviews import decisions
from reviews.kinds import Kind
from reviews.people import Person
from tests.factories import make_due, record, sweep
from tests.restore.backups import Backup
from tests.reviews.scenes import let_undo_end, wish


def lose(to: Sequence[str], meanwhile: Callable[[], object] = sweep) -> None:
    """Record, back up, let what happens happen, put the backup back, and have it noticed."""
    record(to)
    backup = Backup.now()
    meanwhile()
    backup.restore()
    sweep()


def forget_mark() -> None:
    """As on a host that was never there."""
    for path in mark.folder().glob("*.json"):
        path.unlink()


def whole() -> Installation:
    return Installation.objects.get()


def lift(person: str = "ann") -> None:
    """Let work go on."""
    lifting.lift(whole().held_at, "the old workers are off", person)


def let_old_leases_end() -> None:
    """Let the time pass in which a worker of before the restore could still write."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ledgers_delivery SET rewound_at = rewound_at - interval '1 hour'"
            " WHERE rewound_at IS NOT NULL"
        )
    make_due(status="unknown")


def release(alice: Person, bob: Person, rows: Sequence[Delivery]) -> None:
    """Two people say that these were not sent; the undo is over."""
    typed = rows[0].destination if len(rows) == 1 else str(len(rows))
    asked = decisions.decide(alice, wish(Kind.RELEASE, typed=typed), rows)
    decisions.approve(bob, asked.pk)
    let_undo_end(*rows)
