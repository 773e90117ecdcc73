"""The trail: who, what, with which authority; found by each of them, and taken away whole."""

import csv
import hashlib
import json
import zipfile
from dataclasses import replace
from io import BytesIO, StringIO
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from delivery import switches
from ledgers import moves
from ledgers.models import Attempt, Channel, Event, Installation
from ledgers.states import DeliveryStatus as S
from ledgers.trail import log
from reviews.exports import COLUMNS
from reviews.pages.trail import SHOWN
from reviews.trail_filters import READERS, asked
from tests.console.conftest import As
from tests.factories import record
from tests.ledgers.rows import lease, opening_of, row_in

pytestmark = pytest.mark.django_db


def kinds(client: Client, **query: str) -> list[str]:
    """The kinds of the events that the page shows."""
    answer = client.get(reverse("admin:trail"), query)
    assert answer.status_code == 200
    return [event.kind for event in answer.context["events"]]


def taken(client: Client, form: str, **query: str) -> bytes:
    answer: Any = client.get(reverse("admin:trail_export", args=[form]), query)
    assert answer.status_code == 200
    return b"".join(answer.streaming_content)


# --- Filters -----------------------------------------------------------------------------------
def test_the_latest_event_stands_first(admin: Client, channel: Channel) -> None:
    row_in(S.DELIVERED)

    assert kinds(admin)[0] == "accept"
    assert "record" in kinds(admin)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"person": "ann"}, ["pause"]),
        ({"person": "bob"}, []),
        ({"kind": "pause"}, ["pause"]),
        ({"kind": "begin", "credential": "alerts-key"}, ["begin", "begin"]),
        ({"credential": "other-key"}, []),
        ({"kind": "begin", "destination": "tg:1001"}, ["begin", "begin"]),
        ({"kind": "begin", "destination": "tg:*"}, ["begin", "begin"]),
        ({"destination": "sms:*"}, []),
        ({"kind": "record", "run": "run-2"}, ["record"]),
        ({"kind": "open_run", "run": "run-2"}, ["open_run"]),
        ({"run": "run-9"}, []),
        ({"people": "only", "kind": "pause"}, ["pause"]),
        ({"since": "all", "kind": "accept"}, ["accept"]),
        ({"since": "hour", "kind": "accept"}, ["accept"]),
        ({"hour": "2001-01-01T00"}, []),
        ({"person": "ann", "kind": "accept"}, []),
    ],
)
def test_the_trail_is_found_by_each_of_its_sides(
    admin: Client, channel: Channel, query: dict[str, str], found: list[str]
) -> None:
    row_in(S.DELIVERED)
    row_in(S.UNKNOWN, "run-2")
    switches.pause(channel, "audit", "ann")

    assert kinds(admin, **query) == found


@pytest.mark.parametrize(("scope", "count"), [("chat:write", 1), ("admin", 1), ("nothing", 0)])
def test_the_trail_is_found_by_scopes_granted_and_used(
    admin: Client, channel: Channel, scope: str, count: int
) -> None:
    (row,) = record()
    lease(row)
    authority: dict[str, Any] = {"credential": "alerts-key", "destination_rule": "*"}
    authority |= {"scopes_granted": ["admin"], "scopes_used": ["chat:write"]}
    moves.begin([replace(opening_of(row), authority=json.dumps(authority))])

    assert len(kinds(admin, scope=scope)) == count


def test_a_delivery_is_found_by_whatever_names_it(admin: Client, channel: Channel) -> None:
    row = row_in(S.DELIVERED)
    row_in(S.DELIVERED, "run-2")

    for name in (str(row.delivery_id), str(row.delivery_id)[:8], row.recognizer):
        assert kinds(admin, delivery=name) == ["accept", "begin", "record"]


def test_an_attempt_shows_with_which_authority_it_was_made(admin: Client, channel: Channel) -> None:
    row_in(S.DELIVERED)

    text = admin.get(reverse("admin:trail"), {"kind": "begin"}).content.decode()

    assert "alerts-key" in text
    assert "rule: <code>*</code>" in text


def test_every_filter_of_the_page_is_one_that_is_read(admin: Client) -> None:
    text = admin.get(reverse("admin:trail")).content.decode()
    start = text.index('aria-label="Filter the trail"')
    names = {part.split('"')[0] for part in text[start:].split(' name="')[1:]}

    assert names <= set(READERS)


def test_remote_text_in_the_trail_is_escaped(admin: Client) -> None:
    log("pause", "<script>alert(1)</script>", detail={"reason": "<img src=x>"})

    text = admin.get(reverse("admin:trail")).content.decode()

    assert "<script>alert" not in text
    assert "<img" not in text


# --- Paging ------------------------------------------------------------------------------------
def test_pages_follow_each_other_without_a_gap_while_more_arrives(admin: Client) -> None:
    for n in range(SHOWN + 5):
        log("pause", f"person-{n}")
    first = admin.get(reverse("admin:trail"), {"kind": "pause"})
    for n in range(3):
        log("pause", f"late-{n}")

    second = admin.get(reverse("admin:trail") + "?" + first.context["older"])

    shown = [e.actor for e in (*first.context["events"], *second.context["events"])]
    assert shown == [f"person-{n}" for n in reversed(range(SHOWN + 5))]
    assert second.context["older"] == ""
    assert QueryDict(first.context["older"])["kind"] == "pause"
    assert "before" not in second.context["newest"]


def test_an_hour_needs_no_other_span() -> None:
    assert "since" not in asked(QueryDict("hour=2026-11-29T14")).given
    assert asked(QueryDict("kind=pause")).given["since"] == "week"


# --- Export ------------------------------------------------------------------------------------
def test_a_table_has_a_row_per_event_with_its_authority(admin: Client, channel: Channel) -> None:
    row = row_in(S.DELIVERED)

    rows = list(csv.DictReader(StringIO(taken(admin, "csv", delivery=row.recognizer).decode())))

    assert [one["kind"] for one in rows] == ["accept", "begin", "record"]
    assert tuple(rows[0]) == COLUMNS
    begun = rows[1]
    assert (begun["credential"], begun["destination_rule"]) == ("alerts-key", "*")
    assert (begun["run"], begun["channel"], begun["attempt"]) == ("run-1", "alerts", "1")
    assert begun["destination"] == "tg:1001"


def test_lines_are_json_and_the_same_as_the_page(admin: Client, channel: Channel) -> None:
    row_in(S.UNKNOWN)

    lines = [json.loads(line) for line in taken(admin, "jsonl").splitlines()]

    assert [one["kind"] for one in lines][1:] == kinds(admin)[1:]
    assert lines[0]["kind"] == "export"


def test_a_bundle_holds_all_evidence_of_its_deliveries_with_hashes_and_no_contents(
    admin: Client, channel: Channel
) -> None:
    row = record(content="the secret plan")[0]
    row_in(S.DELIVERED, "run-2")

    data = taken(admin, "bundle", run="run-2", since="all")
    with zipfile.ZipFile(BytesIO(data)) as bundle:
        files = {name: bundle.read(name) for name in bundle.namelist()}
    manifest = json.loads(files.pop("manifest.json"))

    assert manifest["installation"] == str(Installation.objects.get().namespace)
    assert manifest["asked"] == {"run": "run-2", "since": "all"}
    assert manifest["sha256"] == {n: hashlib.sha256(d).hexdigest() for n, d in files.items()}
    assert str(row.delivery_id).encode() not in data
    attempts = [json.loads(line) for line in files["attempts.jsonl"].splitlines()]
    assert [one["id"] for one in attempts] == list(Attempt.objects.values_list("pk", flat=True))
    assert "response" not in attempts[0]
    assert "response_sha256" in attempts[0]
    assert b"secret plan" not in b"".join(files.values())


def test_there_is_no_export_in_another_form(browse_as: As) -> None:
    answer = browse_as("auditor").get(reverse("admin:trail_export", args=["pdf"]))

    assert answer.status_code == 404
    assert not Event.objects.exists()


def test_only_who_may_export_is_offered_it(browse_as: As) -> None:
    assert "evidence bundle" in browse_as("auditor").get(reverse("admin:trail")).content.decode()
    assert "evidence bundle" not in browse_as("viewer").get(reverse("admin:trail")).content.decode()


@pytest.mark.parametrize(("form", "most"), [("csv", 8), ("jsonl", 8), ("bundle", 16)])
def test_an_export_is_sent_as_it_is_made(
    admin: Client, channel: Channel, form: str, most: int, django_assert_max_num_queries: Any
) -> None:
    for n in range(3):
        row_in(S.DELIVERED, f"run-{n}")
    answer: Any = admin.get(reverse("admin:trail_export", args=[form]))

    with django_assert_max_num_queries(most):
        parts = list(answer.streaming_content)

    assert answer.streaming
    assert len(parts) >= 1
    assert "attachment" in answer.headers["Content-Disposition"]
