"""The sample day is made by the product's own code, and shows something on every page."""

from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest
from django.core.cache import cache
from django.db.models import Max, Min
from django.test import Client
from django.urls import reverse

from config.demo import showing
from config.demo.day.cast import APPROVER, HOUSEHOLDS, ROLES, TRIAGER, WAYS, set_up_people
from config.demo.day.fill import fill
from delivery.models import Worker
from delivery.recheck import Recheck
from delivery.simulator.client import Simulator
from ledgers import verify
from ledgers.clock import database_now
from ledgers.models import Attempt, Channel, Credential, Delivery, Event, Run
from reviews.attention import BY_NAME, CONCERNS, counts, rows_of
from reviews.incidents import incidents
from reviews.kinds import Stage
from reviews.pages.registry import load_pages
from reviews.proposals import Proposal
from reviews.records import Decision
from tests.admin.pages import READ_ONLY, page
from tests.console.people import browser_of

SILENT = {"overdue", "stuck"}  # how many depends on when the workers were ended


@pytest.mark.slow
@pytest.mark.usefixtures("a_sample")
@pytest.mark.timeout(300)
def test_the_day_is_real_and_every_page_shows_something(recipient: Simulator) -> None:
    fill(recipient)  # takes long, so all that follows looks at the same day

    _assert_that_it_left_what_it_promises(recipient)
    _assert_that_every_page_has_content()


def _assert_that_it_left_what_it_promises(recipient: Simulator) -> None:
    assert not verify.broken(verify.verify())
    assert not list(Recheck().differences())
    _assert_that_both_sides_agree(recipient)
    _assert_that_time_went_on()
    numbers = {one.concern.name: one.number for one in counts()}
    assert {name: n for name, n in numbers.items() if name not in SILENT} == {
        "unknown": 40, "closing": 1, "disputed": 1, "expired": 1, "approval": 2,
        "credential": 0,
    }  # fmt: skip
    assert [one.count for one in incidents() if one.count > 1] == [len(HOUSEHOLDS)] == [38]
    assert {d.stage for d in Decision.objects.all()} == {
        Stage.REQUESTED, Stage.EXECUTED, Stage.UNDONE, Stage.REFUSED,
    }  # fmt: skip
    assert Delivery.objects.filter(generation=2, status="delivered").exists()
    assert Delivery.objects.filter(part__gt=1, status="delivered").exists()
    assert Counter(Run.objects.values_list("status", flat=True)).keys() == {
        "completed", "failed", "running", "crash_loop",
    }  # fmt: skip
    assert _practises(8000).endswith("manage.py drill")
    assert _practises(8003).endswith("manage.py drill --console http://127.0.0.1:8003")


def _assert_that_both_sides_agree(recipient: Simulator) -> None:
    """One submission per attempt, and one effect for whatever counts as delivered."""
    simulated = Attempt.objects.filter(delivery__message__channel__adapter="simulator")
    assert recipient.submissions() == simulated.count()
    effects = recipient.effects_by_destination()
    rows = Delivery.objects.filter(message__channel__adapter="simulator")
    # One of generation 1 counts as delivered by what its generation 2 brought.
    own = rows.exclude(pk__in=_stood_in_for())
    delivered = Counter(own.filter(status="delivered").values_list("destination", flat=True))
    unknown = Counter(rows.filter(status="unknown").values_list("destination", flat=True))
    for to in delivered.keys() | effects.keys():
        assert delivered[to] <= effects.get(to, 0) <= delivered[to] + unknown[to], to


def _stood_in_for() -> list[int]:
    second = Delivery.objects.filter(generation=2)
    return [
        Delivery.objects.get(
            message=row.message, destination=row.destination, part=row.part, generation=1
        ).pk
        for row in second
    ]


def _assert_that_time_went_on() -> None:
    """In the order in which things were written, within three days, and evenly at the restarts."""
    moments = list(Event.objects.order_by("pk").values_list("at", flat=True))
    assert moments == sorted(moments)
    now = database_now()
    assert timedelta(hours=71) < now - moments[0] < timedelta(hours=72, minutes=5)
    assert moments[-1] < now
    early = Attempt.objects.aggregate(Min("opened_at"), Max("closed_at"))
    assert moments[0] <= early["opened_at__min"] <= early["closed_at__max"] <= now
    began = list(Worker.objects.order_by("pk").values_list("started_at", flat=True))[1:-1]
    pauses = {round((b - a).total_seconds() / 3600) for a, b in pairwise(began)}
    assert len(began) > 5
    assert pauses == {6}
    assert all(abs(worker.clock_offset_s) < 2 for worker in Worker.objects.all())


def _assert_that_every_page_has_content() -> None:
    cache.clear()
    browser = browser_of("superuser")

    needles = _needles()
    assert {name for name, _, _ in needles} == {
        name for name, one in load_pages().items() if one.kind == "page"
    }
    for name, args, wanted in needles:
        text = _read(browser, reverse(f"admin:{name}", args=args))
        for needle in wanted:
            assert needle in text, f"{name} {args}: {needle}"
    for model in READ_ONLY:
        text = _read(browser, page(model, "changelist"))
        assert 'id="result_list"' in text, model
    assert "a restore has forgotten" not in _read(browser, _place_of_generation_two())


def _needles() -> list[tuple[str, tuple[object, ...], tuple[str, ...]]]:
    """Pages with what they must show: name, arguments, texts."""
    loop = Run.objects.get(status="crash_loop")
    asked = Decision.objects.get(stage=Stage.REQUESTED)
    closing, _ = rows_of(BY_NAME["closing"])[0]
    found: list[tuple[str, tuple[object, ...], tuple[str, ...]]] = [
        ("overview", (), ("1 window closing", "the most in one hour", "partner-feed")),
        ("liveness", (), ("Due against done", "Workers of the last day", loop.run_id)),
        ("restore", (), ("No restore was noticed",)),
        ("retention", (), ("What is kept",)),
        ("triage", (), ("Decide about 38", TRIAGER, "the first window closes")),
        ("approvals", (), ("the visit is tonight", "undone", "refused", APPROVER)),
        ("channels", (), tuple(Channel.objects.values_list("slug", flat=True))),
        ("credentials", (), ("chat.history", "sms:+44*", "*@havn.example")),
        ("trail", (), ("start_step", "account:5120")),
        ("jump", (), ()),
        ("run", (loop.pk,), ("crash loop", "2 deaths")),
        ("decision", (asked.pk,), ("send again, although it may have arrived", "OPS-341")),
        ("delivery", (Delivery.objects.get(pk=closing).delivery_id,), ("It may have arrived",)),
    ]
    change = Proposal.objects.get(stage=Stage.REQUESTED)
    found.append(("proposal", (change.pk,), ("*@fjell.example", "OPS-338")))
    for name, one, slug in (("channel", Channel, "slug"), ("credential", Credential, "name")):
        found.append((f"{name}_new", (), ("<form",)))
        found += [
            (f"{name}_edit", (getattr(row, slug),), (getattr(row, slug), "<form"))
            for row in one.objects.all()
        ]
    found += [("credential", (row.name,), (row.name,)) for row in Credential.objects.all()]
    found += [("channel", (one.slug,), (one.slug,)) for one in Channel.objects.all()]
    found += [
        ("concern", (one.name,), ("/delivery/",)) for one in CONCERNS if one.name not in SILENT
    ]
    return found


def _practises(port: int) -> str:
    told = showing.greeting(("127.0.0.1", port), "secret", "manage.py")
    return next(line for line in told.splitlines() if line.startswith("Practise:"))


def _place_of_generation_two() -> str:
    return reverse("admin:delivery", args=[Delivery.objects.get(generation=2).delivery_id])


def _read(browser: Client, address: str) -> str:
    answer = browser.get(address, follow=True)
    assert answer.status_code == 200, address
    return answer.content.decode()


@pytest.mark.usefixtures("a_sample")
def test_there_is_somebody_for_every_role_and_a_way_out_of_every_capability() -> None:
    people = set_up_people()

    assert {name: one.user.groups.get().name for name, one in people.items() if one.user} == ROLES
    assert {"function", "simulator"} == {way.adapter for way in WAYS}
