"""The home page: unsafe, silent, and only then how much went through."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.urls import reverse

from delivery.models import CredentialHold
from delivery.watch.reading import read_figures
from ledgers import evidence, moves, rulings
from ledgers.clock import database_now
from ledgers.models import Channel, Delivery, Installation, OutboxItem
from ledgers.rulings import By
from ledgers.states import DeliveryStatus as S
from reviews.attention import CONCERNS, counts, rows_of
from reviews.charts.ages import ages
from reviews.charts.hours import HOURS, hours_chart
from tests.console.test_site import beat
from tests.factories import SENDER, make_channel, record
from tests.ledgers.rows import begin, change_of, row_in

pytestmark = pytest.mark.django_db
DAY_S = 86_400


def number(name: str) -> int:
    return {count.concern.name: count.number for count in counts(CONCERNS)}[name]


def age(table: str, column: str, **by: float) -> None:
    """Let time pass for every row of a table."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET {column} = {column} - make_interval(secs => %s)",
            [timedelta(**by).total_seconds()],
        )


def test_with_nothing_in_the_ledgers_nothing_is_unsafe(admin: Client) -> None:
    beat()

    answer = admin.get("/")

    assert answer.context["unsafe_now"] == []
    assert answer.context["silences"] == []
    assert answer.content.decode().count('cf-text-good">No.') == 2


def test_the_two_questions_stand_first_and_throughput_last(admin: Client, channel: Channel) -> None:
    row_in(S.DELIVERED)

    text = admin.get("/").content.decode()

    order = [text.index(f'id="{name}"') for name in ("unsafe", "silent", "closing", "hours")]
    assert order == sorted(order)


def test_an_unknown_delivery_is_the_first_thing_said(admin: Client, channel: Channel) -> None:
    row_in(S.UNKNOWN)
    beat()

    text = admin.get("/").content.decode()

    assert "Yes: 1 unknown." in text
    assert f'class="cf-card cf-unknown" href="{reverse("admin:triage")}"' in text


@pytest.fixture
def keyed(db: None) -> Channel:
    """A channel whose provider honours a key for a day."""
    return make_channel(settings={"path": SENDER, "dedupe_window_s": DAY_S})


@pytest.mark.unverified_ledgers
def test_what_a_person_left_as_it_is_worries_nobody_any_more(
    admin: Client, channel: Channel
) -> None:
    row = row_in(S.UNKNOWN)
    before = number("unknown")
    Delivery.objects.filter(pk=row.pk).update(decision="leave", decided_at=database_now())
    cache.clear()

    answer = admin.get("/")

    assert (before, number("unknown")) == (1, 0)
    assert answer.context["unsafe_now"] == []
    assert answer.context["glance"].count("unknown") == ""
    assert ages() == ()


@pytest.mark.unverified_ledgers
@pytest.mark.parametrize("seconds", [60, 3_500])
def test_a_window_that_closes_within_the_hour_is_a_card_and_a_list(
    admin: Client, keyed: Channel, seconds: float
) -> None:
    row = row_in(S.UNKNOWN)
    leave_window(row, seconds + 30)
    assert number("closing") == 1

    text = admin.get("/").content.decode()

    assert "1 window closing" in text
    assert reverse("admin:delivery", args=[row.delivery_id]) in text


@pytest.mark.unverified_ledgers
@pytest.mark.parametrize("seconds", [-60, 4_000])
def test_a_window_that_is_over_or_far_from_it_is_not_closing(
    keyed: Channel, seconds: float
) -> None:
    leave_window(row_in(S.UNKNOWN), seconds)

    assert number("closing") == 0


def leave_window(row: Delivery, left_s: float) -> None:
    """Leave so much of the window of its key."""
    used = database_now() - timedelta(seconds=DAY_S - left_s)
    Delivery.objects.filter(pk=row.pk).update(key_first_used_at=used)


@pytest.mark.unverified_ledgers
def test_a_late_acceptance_is_disputed(channel: Channel) -> None:
    row = row_in(S.FAILED)

    moves.accept([change_of(row)])

    assert number("disputed") == 1


def test_an_expired_delivery_counts_until_somebody_decides(channel: Channel) -> None:
    row = row_in(S.EXPIRED)
    assert number("expired") == 1

    moves.reissue([change_of(row, due_at=database_now())])

    assert number("expired") == 0


def test_what_takes_approval_counts_while_it_waits(channel: Channel) -> None:
    record()
    assert number("approval") == 0

    Channel.objects.update(requires_approval=True)

    assert number("approval") == 1


def test_what_is_due_for_a_minute_is_overdue_since_it_became_owed(channel: Channel) -> None:
    row = record()[0]
    assert number("overdue") == 0

    age("ledgers_outboxitem", "due_at", seconds=61)

    assert number("overdue") == 1
    ((pk, since),) = rows_of(next(c for c in CONCERNS if c.name == "overdue"))
    assert (pk, since) == (row.pk, Delivery.objects.get().created_at)


HELD_BY_A_PERSON = {
    "paused": "UPDATE ledgers_channel SET paused_at = now(), pause_reason = 'audit'",
    "held": "UPDATE ledgers_installation SET held_at = now(), held_reason = 'audit'",
    "to approve": "UPDATE ledgers_channel SET requires_approval = true",
    "practice": "UPDATE ledgers_channel SET for_testing = true",
}


@pytest.mark.parametrize("statement", HELD_BY_A_PERSON.values(), ids=HELD_BY_A_PERSON)
def test_what_a_person_holds_is_overdue_for_nobody(channel: Channel, statement: str) -> None:
    """No worker lives to move it out of the way: the console and the watch leave it out alike."""
    record()
    age("ledgers_outboxitem", "due_at", seconds=61)
    before = (number("overdue"), [one.overdue for one in read_figures().channels])

    with connection.cursor() as cursor:
        cursor.execute(statement)

    assert before == (1, [1])
    assert number("overdue") == 0
    assert not any(one.overdue for one in read_figures().channels)


def test_a_try_that_somebody_approved_is_overdue_like_any_other(channel: Channel) -> None:
    row = record()[0]
    Channel.objects.update(requires_approval=True)
    rulings.decide(
        {row.pk: row.row_version}, "try_again", By("ann", {"reason": "it is right"}), undo_s=0
    )

    age("ledgers_outboxitem", "due_at", seconds=61)

    assert number("overdue") == 1


@pytest.mark.unverified_ledgers
def test_practice_alarms_nobody_and_is_not_called_silent(admin: Client, channel: Channel) -> None:
    beat()
    row_in(S.UNKNOWN)
    begin(record(run_id="run-2")[0])
    age("ledgers_outboxitem", "due_at", days=1)
    Channel.objects.update(for_testing=True)

    assert read_figures().channels == ()
    assert number("stuck") == 0
    assert admin.get("/").context["silences"] == []


def test_while_everything_is_held_the_page_says_so_and_calls_no_channel_open(
    admin: Client, channel: Channel
) -> None:
    beat()
    Installation.objects.update(held_at=database_now(), held_reason="the provider is down")

    text = admin.get("/").content.decode()
    part = admin.get(reverse("admin:overview_live")).content.decode()

    for said in (text, part):
        assert "Yes: everything is held." in said
        ways = said[said.index('id="ways"') : said.index('id="workers"')]
        assert "held</span>" in ways
        assert "open</span>" not in ways


def test_a_lease_that_is_over_is_stuck_and_not_overdue(channel: Channel) -> None:
    begin(record()[0])
    assert number("stuck") == 0

    OutboxItem.objects.update(due_at=database_now() - timedelta(seconds=90))

    assert (number("stuck"), number("overdue")) == (1, 0)


@pytest.mark.unverified_ledgers
@pytest.mark.parametrize("concern", CONCERNS, ids=lambda c: c.name)
def test_a_card_counts_exactly_what_its_list_shows(
    admin: Client, channel: Channel, concern: Any
) -> None:
    row_in(S.UNKNOWN, "u")
    moves.accept([change_of(row_in(S.FAILED, "f"))])
    row_in(S.FAILED, "g")
    row_in(S.EXPIRED, "e")
    begin(record(run_id="b")[0])
    record(run_id="p")
    age("ledgers_outboxitem", "due_at", days=1)
    if concern.name == "approval":
        Channel.objects.update(requires_approval=True)
    if concern.name != "overdue":
        hold = CredentialHold.objects.create(
            channel=Channel.objects.get(), why="credential refused"
        )
        Delivery.objects.filter(status="pending").update(cause=f"held: {hold.why}")

    listed = admin.get(reverse("admin:concern", args=[concern.name]))

    assert len(listed.context["rows"]) == number(concern.name)
    assert concern.name == "closing" or number(concern.name) > 0


def test_there_is_no_list_of_what_is_no_concern(admin: Client) -> None:
    assert admin.get(reverse("admin:concern", args=["nonsense"])).status_code == 404


def test_workers_are_alive_silent_or_stopped(admin: Client) -> None:
    beat()
    beat(ago_s=200)
    beat(stopped_at=database_now())
    beat(ago_s=100_000)
    beat(clock_offset_s=-7.2)

    answer = admin.get("/")

    states = Counter(sign.state for sign in answer.context["workers"])
    assert states == {"alive": 2, "silent": 1, "stopped": 1}
    assert "clock off by -7.2 s" in answer.content.decode()


def test_the_number_of_workers_that_live_leads_to_these_alone(admin: Client) -> None:
    beat(clock_offset_s=0.0123456)
    beat(ago_s=200)
    beat(stopped_at=database_now())
    address = reverse("admin:delivery_worker_changelist") + "?state=alive"

    text = admin.get("/").content.decode()
    listed = admin.get(address)

    assert f'href="{address}"' in text
    assert listed.context["cl"].result_count == 1
    assert "0.01 s" in listed.content.decode()


def test_a_channel_shows_its_last_success_or_that_there_is_none(
    admin: Client, channel: Channel
) -> None:
    assert "not used yet" in admin.get("/").content.decode()
    beat()
    record()
    cache.clear()
    assert "no success lately on alerts" in admin.get("/").content.decode()

    row_in(S.DELIVERED, "run-2")
    cache.clear()

    assert "no success lately" not in admin.get("/").content.decode()


def test_a_paused_channel_is_not_called_silent(admin: Client, channel: Channel) -> None:
    beat()
    record()
    Channel.objects.update(paused_at=database_now(), pause_reason="audit")

    assert "no success lately on" not in admin.get("/").content.decode()


# --- Charts ------------------------------------------------------------------------------------
@pytest.mark.unverified_ledgers
def test_bars_lead_to_exactly_the_changes_that_they_count(admin: Client, channel: Channel) -> None:
    row_in(S.DELIVERED, "a")
    row = row_in(S.UNKNOWN, "b")
    moves.accept([change_of(row)])  # it counts as both
    hour = f"{database_now():%Y-%m-%dT%H}"

    text = admin.get("/").content.decode()
    listed = admin.get(reverse("admin:trail"), {"hour": hour, "became": "any"})
    doubted = admin.get(reverse("admin:trail"), {"hour": hour, "became": "unknown"})

    assert f'href="{reverse("admin:trail")}?hour={hour}&amp;became=any"' in text
    assert f"{hour[-2:]}:00 UTC: 2 delivered, 1 became unknown" in text
    kinds = Counter(event.kind for event in listed.context["events"])
    assert kinds == {"accept": 2, "suspect": 1}
    assert [event.kind for event in doubted.context["events"]] == ["suspect"]


def test_the_trail_knows_no_change_to_what_is_no_rest(admin: Client) -> None:
    answer = admin.get(reverse("admin:trail"), {"became": "pending"})

    assert answer.status_code == 400
    assert "write any, or one of delivered" in answer.content.decode()


@pytest.mark.unverified_ledgers  # what waits for its seal is taken away
def test_hours_that_are_over_are_counted_once(channel: Channel) -> None:
    row_in(S.DELIVERED)
    now = database_now()
    first = hours_chart(now + timedelta(hours=3))

    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("DELETE FROM ledgers_event")
    second = hours_chart(now + timedelta(hours=3))
    cache.clear()
    third = hours_chart(now + timedelta(hours=3))
    row_back_in_place()

    assert first.totals == second.totals != third.totals


def row_back_in_place() -> None:
    """The trail was emptied to see what is remembered; the ledgers go with it."""
    with connection.cursor() as cursor:
        for table in ("attempt", "outboxitem", "delivery", "message", "step", "run"):
            cursor.execute(f"DELETE FROM ledgers_{table}")
        cursor.execute("SET LOCAL session_replication_role = origin")


def test_a_single_unknown_among_many_is_seen(channel: Channel) -> None:
    for n in range(8):
        row_in(S.DELIVERED, f"run-{n}")
    row_in(S.UNKNOWN, "lost")

    (bar,) = hours_chart(database_now()).bars[-1:]

    heights = {part.tone: part.height for part in bar.segments}
    assert heights["unknown"] >= 3
    assert heights["good"] > heights["unknown"]


def test_the_chart_forgets_what_is_older_than_its_hours(channel: Channel) -> None:
    row_in(S.DELIVERED)

    assert hours_chart(database_now() + timedelta(hours=HOURS + 1)).bars == ()


@pytest.mark.unverified_ledgers
def test_unknown_deliveries_stand_in_the_bar_of_their_age(channel: Channel) -> None:
    assert ages() == ()
    for n, seconds in enumerate((0, 400, 4_000, 30_000, 100_000, 400_000)):
        row = row_in(S.UNKNOWN, f"run-{n}")
        Delivery.objects.filter(pk=row.pk).update(
            unknown_since=database_now() - timedelta(seconds=seconds)
        )

    assert [one.count for one in ages()] == [1] * 6


# --- Refreshing --------------------------------------------------------------------------------
def test_the_fragment_is_what_the_page_shows_without_javascript(
    admin: Client, channel: Channel
) -> None:
    row_in(S.UNKNOWN)
    whole = admin.get("/").content.decode()

    part = admin.get(reverse("admin:overview_live")).content.decode()

    assert part.strip().splitlines()[-1].strip() in whole
    assert "<html" not in part
    assert 'id="unsafe"' in part


def test_what_is_swapped_contains_neither_the_switch_nor_the_stamp(admin: Client) -> None:
    whole = admin.get("/").content.decode()
    part = admin.get(reverse("admin:overview_live")).content.decode()

    assert 'hx-trigger="every 10s"' in whole
    for outside in ("data-cf-pause", "cf-stamp", "hx-get"):
        assert outside in whole
        assert outside not in part


def test_many_tabs_cost_one_look_at_the_ledgers(admin: Client, channel: Channel) -> None:
    from django.test.utils import CaptureQueriesContext

    admin.get(reverse("admin:overview_live"))
    with CaptureQueriesContext(connection) as seen:
        admin.get(reverse("admin:overview_live"))

    assert not [q for q in seen if "ledgers_" in q["sql"]]


def test_evidence_alone_changes_no_card(channel: Channel) -> None:
    row = row_in(S.PENDING)
    evidence.withdraw([row.pk], "tester", "not wanted")

    assert number("unknown") == 0


def test_workers_that_take_nothing_have_a_banner_on_every_page(
    admin: Client, channel: Channel
) -> None:
    beat()
    record()
    age("delivery_worker", "started_at", hours=1)
    assert "take nothing" not in admin.get("/").content.decode()

    age("ledgers_outboxitem", "due_at", hours=1)

    assert "Workers are alive and take nothing." in admin.get("/liveness/").content.decode()
