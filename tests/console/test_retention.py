"""The page Retention: what is kept, what would go; who may lets it go, with a reason."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from ledgers import seals
from ledgers.models import Event, Run
from ledgers.states import DeliveryStatus as S
from tests.console.conftest import As
from tests.factories import make_channel
from tests.ledgers.old import old_run
from tests.ledgers.rows import row_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def policy(settings: Any) -> None:
    settings.COUNTERFOIL_RETENTION_DAYS = 30
    make_channel()


def seen(client: Client, name: str = "retention") -> str:
    return " ".join(client.get(reverse(f"admin:{name}")).content.decode().split())


def test_it_shows_what_would_go_and_why_what_is_old_stays(browse_as: As) -> None:
    old_run("R-1")
    old_run("R-2", S.UNKNOWN)

    page = seen(browse_as("auditor"))

    assert "more than <strong>30 days</strong> ago" in page
    assert "<dt>Runs</dt> <dd>1, with all their records</dd>" in page
    assert "R-2" in page
    assert "is unknown" in page
    assert "Nothing was purged yet." in page


def test_an_auditor_looks_and_is_told_who_may(browse_as: As) -> None:
    page = seen(browse_as("auditor"))

    assert "To purge takes the role operator-admin." in page
    assert reverse("admin:retention_purge") not in page


def test_an_operator_purges_with_a_reason_and_sees_the_receipt(browse_as: As) -> None:
    old_run("R-1", sealed=False)
    client = browse_as("operator-admin")

    answer = client.post(
        reverse("admin:retention_purge"), {"reason": "the year is over"}, follow=True
    )

    page = answer.content.decode()
    assert "1 run with 1 delivery purged, and 0 unmatched reports" in page
    assert "the year is over" in page
    assert not Run.objects.exists()
    assert Event.objects.get(kind="purge").actor == "operator-admin"


def test_without_a_reason_nothing_goes_and_the_refusal_is_in_the_trail(browse_as: As) -> None:
    old_run("R-1")

    answer = browse_as("operator-admin").post(
        reverse("admin:retention_purge"), {"reason": " "}, follow=True
    )

    assert "Reason: is empty" in answer.content.decode()
    assert Run.objects.exists()
    assert Event.objects.filter(kind="refuse").exists()


def test_the_trail_shows_the_newest_seal_and_that_it_holds(browse_as: As) -> None:
    row_in(S.DELIVERED)
    seals.seal_all()

    page = seen(browse_as("auditor"), "trail")

    assert f"{seals.newest()}" in page
    assert "holds" in page


@pytest.mark.unverified_ledgers
def test_the_trail_says_what_was_changed(browse_as: As) -> None:
    row_in(S.DELIVERED)
    seals.seal_all()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE ledgers_event SET actor = 'nobody' WHERE kind = 'open_run'")
        cursor.execute("SET LOCAL session_replication_role = origin")
    number = Event.objects.get(kind="open_run").pk

    page = seen(browse_as("auditor"), "trail")

    assert f"The record is not what was sealed: event {number} was changed after seal 1." in page


def test_before_the_first_seal_it_says_so(browse_as: As) -> None:
    assert "Nothing is sealed yet." in seen(browse_as("auditor"), "trail")
