"""What stands around every page: menu, banners, jump box, times, and one look per status."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.template import Context, Template
from django.test import Client, override_settings
from django.urls import reverse

from delivery.models import Worker
from delivery.outcomes import (
    Accepted,
    Ambiguous,
    Deferred,
    InFlight,
    NotSent,
    Refused,
    Unauthorised,
)
from ledgers.clock import ClockTimestamp, database_now
from ledgers.looks import TABLE, look
from ledgers.models import Channel, Installation, Run
from ledgers.states import DeliveryStatus, RunStatus, StepStatus
from ledgers.states import DeliveryStatus as S
from reviews.verbs import verb
from reviews.wording import ago, duration, exactly
from tests.console.conftest import As
from tests.factories import record
from tests.ledgers.rows import row_in

pytestmark = pytest.mark.django_db


def text_of(client: Client, name: str, *args: object, **query: str) -> str:
    return client.get(reverse(f"admin:{name}", args=args), query).content.decode()


def beat(ago_s: float = 1, **fields: Any) -> Worker:
    return Worker.objects.create(
        name=f"host:{Worker.objects.count()}:x", host="host", pid=1, build="b", mode="resident",
        beat_at=database_now() - timedelta(seconds=ago_s), **fields,
    )  # fmt: skip


# --- Menu --------------------------------------------------------------------------------------
def test_the_menu_shows_to_each_only_what_they_may_open(browse_as: As) -> None:
    viewer = text_of(browse_as("viewer"), "overview")
    root = text_of(browse_as("superuser"), "overview")

    assert f'href="{reverse("admin:trail")}"' in viewer
    assert f'href="{reverse("admin:ledgers_message_changelist")}"' not in viewer
    assert f'href="{reverse("admin:ledgers_message_changelist")}"' in root
    assert f'href="{reverse("admin:auth_user_changelist")}"' not in viewer


def test_the_menu_marks_the_page_one_is_on(admin: Client) -> None:
    here = f'<a href="{reverse("admin:trail")}" aria-current="page">'

    assert here in text_of(admin, "trail")
    assert here not in text_of(admin, "channels")


def test_the_menu_counts_paused_channels(admin: Client, channel: Channel) -> None:
    assert '<span class="cf-count">' not in text_of(admin, "overview")

    Channel.objects.update(paused_at=ClockTimestamp(), pause_reason="audit")

    assert '<span class="cf-count">1</span>' in text_of(admin, "overview")


# --- Banners -----------------------------------------------------------------------------------
def test_every_page_says_that_no_worker_is_alive(admin: Client) -> None:
    assert "No worker is alive" in text_of(admin, "trail")
    beat(ago_s=100)
    assert "No worker is alive" in text_of(admin, "trail")
    beat(stopped_at=database_now())
    assert "No worker is alive" in text_of(admin, "trail")

    beat()

    assert "No worker is alive" not in text_of(admin, "trail")
    assert "No worker is alive" not in admin.get("/ledgers/delivery/").content.decode()


def test_every_page_says_that_everything_is_held_and_why(admin: Client) -> None:
    Installation.objects.update(held_at=ClockTimestamp(), held_reason="<b>restored</b>")

    text = text_of(admin, "trail")

    assert "Everything is held" in text
    assert "&lt;b&gt;restored" in text


def test_every_page_says_what_is_paused(admin: Client, channel: Channel) -> None:
    Channel.objects.create(
        slug="other", adapter="function", credential=channel.credential, settings={}
    )
    Channel.objects.filter(pk=channel.pk).update(paused_at=ClockTimestamp(), pause_reason="x")
    assert "Every channel is paused" not in text_of(admin, "trail")

    Channel.objects.update(paused_at=ClockTimestamp(), pause_reason="x")

    assert "Every channel is paused" in text_of(admin, "trail")


@override_settings(COUNTERFOIL_ENVIRONMENT="production")
def test_every_page_says_where_it_runs(admin: Client) -> None:
    assert '<span class="cf-env cf-env-production"' in text_of(admin, "trail")


def test_the_sign_in_page_asks_the_ledgers_nothing(browse_as: As) -> None:
    Installation.objects.update(held_at=ClockTimestamp(), held_reason="restored")

    assert "held" not in browse_as("anonymous").get(reverse("admin:login")).content.decode()


# --- Jump box ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name", ["delivery_id", "recognizer", "idempotency_key", "destination", "short"]
)
def test_what_is_pasted_leads_straight_to_its_delivery(
    admin: Client, channel: Channel, name: str
) -> None:
    row = record()[0]
    term = str(row.delivery_id)[:8] if name == "short" else str(getattr(row, name))

    answer: Any = admin.get(reverse("admin:jump"), {"q": f" {term} "})

    assert answer.url == reverse("admin:delivery", args=[row.delivery_id])


def test_a_runs_name_leads_to_the_run(admin: Client, channel: Channel) -> None:
    record()

    answer: Any = admin.get(reverse("admin:jump"), {"q": "run-1"})

    assert answer.url == reverse("admin:run", args=[Run.objects.get().pk])


def test_a_term_of_several_things_shows_them_and_one_of_none_says_what_would_do(
    admin: Client, channel: Channel
) -> None:
    rows = [*record(run_id="run-1"), *record(run_id="run-2")]

    several = text_of(admin, "jump", q="tg:1001")
    none = text_of(admin, "jump", q="<nobody>")

    assert "names more than one thing" in several
    for row in rows:
        assert reverse("admin:delivery", args=[row.delivery_id]) in several
    assert "Nothing is called “&lt;nobody&gt;”" in none
    assert "recognizer (dlv…)" in none


# --- One look per status -----------------------------------------------------------------------
def test_every_status_of_the_product_has_its_look() -> None:
    kinds = (Accepted, Ambiguous, Deferred, InFlight, NotSent, Refused, Unauthorised)
    outcomes = {kind.outcome for kind in kinds if isinstance(kind.outcome, str)}
    statuses = {str(s) for kind in (DeliveryStatus, RunStatus, StepStatus) for s in kind}

    assert statuses | outcomes <= set(TABLE)


def test_unknown_alone_is_violet() -> None:
    assert [value for value, one in TABLE.items() if one.tone == "unknown"] == ["unknown"]


def test_a_word_that_the_table_does_not_know_is_shown_all_the_same() -> None:
    assert look("<new>_thing").word == "<new> thing"
    shown = Template("{% load console %}{% status value %}").render(Context({"value": "<new>"}))
    assert "&lt;new&gt;" in shown


def test_a_status_is_a_glyph_a_word_and_a_tone() -> None:
    row = row_in_words("unknown")

    assert 'href="#cf-ask"' in row
    assert "cf-unknown" in row
    assert "unknown</span>" in row


def row_in_words(value: str) -> str:
    return Template("{% load console %}{% status value %}").render(Context({"value": value}))


# --- Times -------------------------------------------------------------------------------------
NOON = datetime(2026, 11, 29, 12, 0, 0, 5000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("away", "words"),
    [(0, "just now"), (0.4, "just now"), (5, "5 s ago"), (65, "1 min ago"), (7300, "2 h ago"),
     (200_000, "2 d ago"), (-65, "in 1 min")],
)  # fmt: skip
def test_how_long_ago_is_said_in_the_largest_unit(away: float, words: str) -> None:
    assert ago(NOON - timedelta(seconds=away), NOON) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.5, "0.5 s"), (45, "45 s"), (60, "1 min"), (3_600, "1 h"), (3_725, "1 h 2 min"),
     (86_400, "1 d"), (90_000, "1 d 1 h")],
)  # fmt: skip
def test_a_span_is_said_in_its_two_largest_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_moment_has_the_exact_one_with_its_zone_beside_it() -> None:
    shown = Template("{% load console %}{% moment at %}").render(Context({"at": NOON}))

    assert 'datetime="2026-11-29T12:00:00.005000+00:00"' in shown
    assert 'title="2026-11-29 12:00:00.005 UTC"' in shown
    assert exactly(None) == ""
    assert "never" in Template("{% load console %}{% moment at %}").render(Context({"at": None}))


def test_two_pages_cannot_have_one_name() -> None:
    from reviews.pages.registry import page

    with pytest.raises(ValueError, match="two pages are called trail"):
        page("trail", "elsewhere/")(lambda request: HttpResponse())


def test_a_console_page_says_unknown_in_the_one_way(admin: Client, channel: Channel) -> None:
    row_in(S.UNKNOWN)

    assert "cf-status cf-unknown" in text_of(admin, "concern", "unknown")


@pytest.mark.parametrize("next_page", ["//evil.example", "https://evil.example", "/\\evil.example"])
def test_a_sign_in_that_should_lead_elsewhere_leads_to_the_overview(next_page: str) -> None:
    User.objects.create_user("ann", password="a long password", is_staff=True)
    form = {"username": "ann", "password": "a long password", "next": next_page}

    answer: Any = Client().post(reverse("admin:login"), form)

    assert answer.url == reverse("admin:index")


@pytest.mark.parametrize("name", ["x" * 300, "\ufdfa" * 150, "a\x00b"])
def test_a_name_that_no_account_can_have_is_no_server_error(name: str) -> None:
    """The second grows to 2,700 characters when it is made uniform."""
    answer = Client().post(reverse("admin:login"), {"username": name, "password": "wrong"})

    assert answer.status_code == 200
    assert not AccessAttempt.objects.exists()


@pytest.mark.parametrize("term", ["tg:10", "@acme.test"])
def test_what_only_the_list_finds_leads_to_the_list(
    admin: Client, channel: Channel, term: str
) -> None:
    """The beginning of a destination, or its domain."""
    record(["tg:1001", "ops@acme.test"])

    answer: Any = admin.get(reverse("admin:jump"), {"q": term}, follow=True)

    assert answer.request["PATH_INFO"] == reverse("admin:ledgers_delivery_changelist")
    assert answer.request["QUERY_STRING"] == urlencode({"q": term})
    assert answer.context["cl"].result_count == 1


def test_a_refusal_names_the_role_that_is_lacking_and_what_it_may(browse_as: As) -> None:
    answer = browse_as("viewer").post(reverse("admin:triage_take"), {})

    said = answer.content.decode()
    assert answer.status_code == 403
    assert "the permission to take an unknown delivery, look again, add evidence." in said
    assert "by the role triager." in said
    assert "auditor" not in said[said.index("permission to") : said.index("Nothing was changed")]


def test_events_say_in_words_what_happened() -> None:
    assert [verb(kind) for kind in ("suspect", "open_run", "start_step", "seal")] == [
        "became unknown", "run began", "start step", "seal",
    ]  # fmt: skip
