"""Everything there is in the console, as many times as is asked for."""

from delivery import agent
from delivery.models import Worker
from ledgers import evidence, moves
from ledgers.clock import database_now
from ledgers.evidence import Closing, Sighting
from ledgers.models import Delivery, OutboxItem
from ledgers.states import DeliveryStatus as S
from reviews import decisions
from reviews.assigning import assign
from reviews.kinds import Kind
from reviews.people import person_of
from reviews.selecting import select
from reviews.wishes import Wish
from tests.console.people import person
from tests.factories import make_channel, message
from tests.ledgers.rows import change_of, lease, opening_of, row_in


def crowd(count: int) -> None:
    """So many of everything: what one run owes, and runs, channels, workers, requests, evidence."""
    with agent.run("crowd", agent="tester") as run:
        run.step("write").complete(None, [message([f"room:{n}" for n in range(count)])])
        for n in range(count):
            run.step(f"step-{n}").complete(None, [message([f"tg:{n}"])])
    lost = _lose(list(Delivery.objects.filter(destination__startswith="room:").order_by("pk")))
    for n in range(count):
        make_channel(f"way-{n}")
        Worker.objects.create(name=f"host:{n}:x", host="host", pid=n, build="b", mode="resident")
    for status in (S.DELIVERED, S.FAILED, S.EXPIRED, S.CANCELLED, S.SUBMITTING):
        for n in range(max(1, count // 10)):
            row_in(status, f"{status}-{n}")
    evidence.add_sightings([_sighting(row) for row in lost for _ in range(2)])
    assign([row.pk for row in lost], "ann")
    _ask(lost)


def _lose(rows: list[Delivery]) -> list[Delivery]:
    """Make them unknown, and held by nobody."""
    lease(*rows)
    opened = moves.begin([opening_of(row) for row in rows])
    evidence.close_attempts(
        [Closing(opened[row.pk].attempt_id, "ambiguous", "written", 10) for row in rows]
    )
    moves.suspect([change_of(row, due_at=database_now()) for row in rows])
    OutboxItem.objects.filter(pk__in=opened).update(leased=False)
    return rows


def _sighting(row: Delivery) -> Sighting:
    return Sighting(
        row.pk, database_now(), "surface_scan", "inconclusive", "the last hour", "the search broke",
        None, 1, "", "", "tester",
    )  # fmt: skip


def _ask(rows: list[Delivery]) -> None:
    """One draft about all of them, and a request about each."""
    triager = person_of(person("triager"))
    for row in rows:
        row.refresh_from_db()
    select(triager, {row.pk: row.row_version for row in rows})
    for row in rows:
        wish = Wish(Kind.SEND_OTHERWISE, reason="it is needed", note="not seen there",
                    typed=row.destination)  # fmt: skip
        draft = decisions.fill(triager, wish, select(triager, {row.pk: row.row_version}).pk)
        decisions.request(triager, wish, draft.pk)
