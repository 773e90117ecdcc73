"""What was seen to go wrong in consoles of this kind, each with the test that keeps it out."""

import csv
import json
from io import StringIO
from typing import Any

import pytest
from django.contrib import admin as django_admin
from django.db import connection
from django.db.models import Model
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ledgers.models import Channel, Credential, Event
from ledgers.states import DeliveryStatus as S
from ledgers.trail import log
from reviews.exports import cell
from tests.admin.pages import READ_ONLY, REGISTERED, page
from tests.console.conftest import As
from tests.ledgers.rows import row_in

pytestmark = pytest.mark.django_db


# 1. A package's own admin offers to do things that nobody meant to offer.
def test_no_registered_list_offers_an_action_that_names_no_permission(admin: Client) -> None:
    request: Any = admin.get("/").wsgi_request
    for model, registered in django_admin.site._registry.items():
        actions: dict[str, Any] = registered.get_actions(request)
        for action, name, _ in actions.values():
            needs = getattr(action, "allowed_permissions", None)
            assert needs, f"{model.__name__}: {name} names no permission"


def test_no_record_can_be_added_changed_or_deleted_by_a_superuser(admin: Client) -> None:
    request: Any = admin.get("/").wsgi_request
    for one in (django_admin.site._registry[model] for model in READ_ONLY):
        assert not one.has_add_permission(request)
        assert not one.has_change_permission(request)
        assert not one.has_delete_permission(request)


def test_packages_register_no_pages_of_their_own() -> None:
    ours = {"ledgers", "delivery", "reviews", "auth"}

    assert {model._meta.app_label for model in REGISTERED} <= ours


# 2. "Select all" hands over more than it shows: no list of records has actions at all.
def test_no_list_of_records_hands_a_selection_to_an_action() -> None:
    settings: tuple[type[Model], ...] = (Channel, Credential)
    for model in (*READ_ONLY, *settings):
        assert django_admin.site._registry[model].actions is None


# 3. A query string may ask for any column; `tests.admin` walks the stock lists, this is ours.
@pytest.mark.parametrize(
    "query",
    [
        {"person": "\x00"},
        {"kind__regex": "("},
        {"destination": "x" * 5_000},
        {"before": "1; DROP TABLE"},
        {"before": "9" * 40},
        {"before": "٣"},
        {"hour": "2026-13-99T99"},
        {"since": "1 OR 1=1"},
        {"delivery": "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")},
        {"scope": "'\"{}[]"},
    ],
)
def test_no_filter_of_the_trail_is_a_server_error(admin: Client, query: dict[str, str]) -> None:
    for name, args in (("trail", ()), ("trail_export", ("jsonl",))):
        assert admin.get(reverse(f"admin:{name}", args=args), query).status_code in {200, 400}


@pytest.mark.parametrize("term", ["\x00", "'; --", "x" * 2_000, "%", "\ud83d"])
def test_no_term_in_the_jump_box_is_a_server_error(admin: Client, term: str) -> None:
    safe = term.encode("utf-8", "surrogatepass").decode("latin-1")

    assert admin.get(reverse("admin:jump"), {"q": safe}).status_code == 200


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_no_moment_in_an_address_or_a_form_is_a_server_error(
    admin: Client, channel: Channel, moment: str
) -> None:
    """Python reads zones and years that the database refuses."""
    incident = {"channel": "alerts", "boundary": "lost", "from": moment, "to": moment}
    admin.post(reverse("admin:pause", args=[channel.slug]), {"reason": "a drill"})

    answers = [
        admin.get(reverse("admin:triage"), incident),
        admin.get(reverse("admin:triage"), {"after": f"never~{moment}~1"}),
        admin.get(reverse("admin:triage_news"), {"since": moment}),
        admin.post(reverse("admin:triage_select"), incident),
        admin.post(reverse("admin:triage_take"), incident),
        admin.post(reverse("admin:resume", args=["alerts"]), {"reason": "x", "seen": moment}),
        admin.post(reverse("admin:release"), {"reason": "x", "seen": moment}),
    ]

    assert {answer.status_code for answer in answers} <= {200, 302}
    channel.refresh_from_db()
    assert channel.paused_at is not None


# 4. A filter that is dropped without a word shows everything, as if that were the answer.
@pytest.mark.parametrize("query", [{"foo": "1"}, {"since": "tuesday"}, {"hour": "noon"}])
def test_a_filter_that_is_not_understood_matches_nothing_and_says_so(
    admin: Client, query: dict[str, str]
) -> None:
    log("pause", "ann")

    for url in (reverse("admin:trail"), reverse("admin:trail_export", args=["jsonl"])):
        answer = admin.get(url, query)

        assert answer.status_code == 400
        assert answer.context["events"] == []
        assert next(iter(query)) in answer.content.decode()
        assert "nothing matches" in answer.content.decode()
    assert not Event.objects.filter(kind="export").exists()


# 5. An expired session and a poll: the sign-in form would be swapped into the page.
def test_polling_after_the_session_ended_leads_the_whole_browser_to_the_sign_in(
    browse_as: As,
) -> None:
    answer = browse_as("anonymous").get(
        reverse("admin:overview_live"),
        headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/?a=b"},
    )

    assert answer.status_code == 204
    assert answer.headers["HX-Redirect"] == reverse("admin:login") + "?next=%2F%3Fa%3Db"


def test_where_a_poll_says_it_comes_from_another_host_it_leads_back_home(browse_as: As) -> None:
    answer = browse_as("anonymous").get(
        reverse("admin:overview_live"),
        headers={"HX-Request": "true", "HX-Current-URL": "https://evil.example/x"},
    )

    assert answer.headers["HX-Redirect"] == reverse("admin:login") + "?next=%2F"


def test_a_person_without_a_session_who_just_browses_is_led_to_the_sign_in(browse_as: As) -> None:
    assert browse_as("anonymous").get(reverse("admin:trail")).status_code == 302


# 6. A secret in a column can be asked for character by character.
def test_no_list_can_be_asked_about_where_secrets_are(admin: Client, channel: Channel) -> None:
    Credential.objects.update(secret_ref="env:HUNTER2_HUNTER2")
    for model in (Channel, Credential):
        for name in (
            "secret_ref__startswith",
            "credential__secret_ref__startswith",
            "settings__url",
        ):
            answer = admin.get(page(model, "changelist"), {name: "env:H"})
            assert answer.status_code in {302, 400}


# 7. A cell that begins like a formula is one, to a spreadsheet.
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|x", "'+cmd|x"),
        ("-2", "'-2"),
        ("@sum", "'@sum"),
        ("\tx", "'\tx"),
        ("\n=1", "'\n=1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("+4917012345678", "+4917012345678"),
        ("+49 170 1234567", "'+49 170 1234567"),
        ("+1", "'+1"),
        ("ann", "ann"),
        ("", ""),
        (None, ""),
        (-2, "'-2"),
        (["=a"], "'=a"),
        ({"a": 1}, '{"a": 1}'),
    ],
)
def test_a_cell_is_never_a_formula_and_a_phone_number_stays_one(value: Any, shown: str) -> None:
    assert cell(value) == shown


def test_a_hostile_reason_leaves_the_house_as_text(admin: Client) -> None:
    log("pause", "=HYPERLINK()")

    answer: Any = admin.get(reverse("admin:trail_export", args=["csv"]))
    rows = list(csv.DictReader(StringIO(b"".join(answer.streaming_content).decode())))

    assert "'=HYPERLINK()" in [row["person"] for row in rows]


def test_a_semicolon_begins_no_cell_where_spreadsheets_split_at_it(admin: Client) -> None:
    log("pause", "a;=HYPERLINK()")

    answer: Any = admin.get(reverse("admin:trail_export", args=["csv"]))
    lines = b"".join(answer.streaming_content).decode()

    assert '"a;=HYPERLINK()"' in lines


# Besides: a search without end, and what a browser may load.
@pytest.mark.django_db(transaction=True)
@override_settings(COUNTERFOIL_PATIENCE_S=0.05)
def test_a_search_that_is_too_broad_ends_with_words(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(5)")

    monkeypatch.setattr("reviews.pages.channels.per_channel", slow)

    answer = admin.get(reverse("admin:channels"))

    assert answer.status_code == 503
    assert "too broad" in answer.content.decode()
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone()[0] == "1min"


@pytest.mark.django_db(transaction=True)
@override_settings(COUNTERFOIL_PATIENCE_S=0.05)
def test_a_change_that_ran_out_of_time_says_that_nothing_was_changed(
    admin: Client, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(5)")

    monkeypatch.setattr("delivery.switches.pause", slow)

    answer = admin.post(reverse("admin:pause", args=[channel.slug]), {"reason": "x"})

    assert answer.status_code == 503
    assert "nothing was changed" in answer.content.decode()


def test_the_policy_is_enforced_and_allows_nothing_inline_and_no_other_host(admin: Client) -> None:
    policy = admin.get("/").headers["Content-Security-Policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize("name", ["overview", "channels", "credentials", "trail"])
def test_no_page_has_anything_inline(admin: Client, channel: Channel, name: str) -> None:
    row_in(S.UNKNOWN)

    text = admin.get(reverse(f"admin:{name}")).content.decode()

    assert " style=" not in text
    assert " onclick=" not in text
    assert "<style" not in text
    assert "<script>" not in text
    assert "hx-on" not in text


@override_settings(DEBUG=False)
def test_ten_wrong_passwords_close_the_way_in_for_that_name_alone(admin: Client) -> None:
    url = reverse("admin:login")
    answers = [
        Client().post(url, {"username": "ann", "password": f"wrong {n}"}).status_code
        for n in range(11)
    ]

    assert answers[:9] == [200] * 9
    assert answers[-1] == 429
    other = Client().post(url, {"username": "bob", "password": "wrong"})
    assert other.status_code == 200


def test_htmx_is_told_to_keep_to_the_policy(admin: Client) -> None:
    text = admin.get("/").content.decode()
    start = text.index('name="htmx-config" content="') + len('name="htmx-config" content="')
    config = json.loads(text[start : text.index('"', start)].replace("&quot;", '"'))

    assert config == {
        "includeIndicatorStyles": False,
        "allowEval": False,
        "selfRequestsOnly": True,
        "historyCacheSize": 0,
    }


@pytest.mark.parametrize(
    ("name", "args"),
    [("overview", ()), ("channels", ()), ("channel", ("alerts",)), ("credentials", ()),
     ("trail", ()), ("concern", ("unknown",))],
)  # fmt: skip
def test_a_page_asks_the_database_as_often_however_much_there_is(
    admin: Client, channel: Channel, name: str, args: tuple[str, ...]
) -> None:
    row_in(S.UNKNOWN)
    url = reverse(f"admin:{name}", args=args)
    few = _queries(admin, url)

    for n in range(6):
        row_in(S.UNKNOWN, f"more-{n}")
        row_in(S.DELIVERED, f"done-{n}")
    Channel.objects.bulk_create(
        Channel(slug=f"way-{n}", adapter="function", credential=channel.credential,
                settings=channel.settings)
        for n in range(4)
    )  # fmt: skip

    assert _queries(admin, url) == few
    assert few <= 25


def _queries(client: Client, url: str) -> int:
    from django.core.cache import cache

    cache.clear()
    with CaptureQueriesContext(connection) as seen:
        assert client.get(url).status_code == 200
    return len(seen)


def test_events_are_appended_by_exports_and_refusals_only_where_they_happened(
    browse_as: As,
) -> None:
    browse_as("auditor").get(reverse("admin:trail_export", args=["csv"]), {"kind": "pause"})
    browse_as("viewer").get(reverse("admin:trail_export", args=["csv"]))

    export, refuse = Event.objects.filter(kind__in=["export", "refuse"]).order_by("pk")
    assert (export.actor, export.detail["format"]) == ("auditor", "csv")
    assert export.detail["filters"]["kind"] == "pause"
    assert (refuse.actor, refuse.detail["permission"]) == ("viewer", "export_trail")
