"""On a ledger in which a plan matters, every search and every list is served by an index."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ledgers.models import Channel, Delivery
from ledgers.states import DeliveryStatus as S
from tests.factories import record
from tests.ledgers.rows import row_in

# Rows that no work has led to: it takes thousands before an index is the better way.
pytestmark = [pytest.mark.django_db, pytest.mark.unverified_ledgers]
ROWS = 20_000
LIST = "admin:ledgers_delivery_changelist"
FILL = """
INSERT INTO ledgers_delivery (delivery_id, message_id, destination, part, generation, status, cause,
    body_hash, idempotency_key, recognizer, provider_message_id, attempt_count, created_at,
    acknowledged_at, finished_at, decision, fence, row_version)
SELECT gen_random_uuid(), %s, CASE n %% 2 WHEN 0 THEN 'ops' || n || '@acme' || n %% 500 || '.test'
        ELSE 'https://hooks' || n %% 300 || '.example.com/' || n END,
    1, 1, 'delivered', 'proven-accepted: told', 'h', 'key-' || n, 'dlv' || n, 'prov-' || n, 0,
    clock_timestamp(), clock_timestamp(), clock_timestamp(), '', 0, 1
FROM generate_series(1, %s) n"""


@pytest.fixture
def large(channel: Channel) -> Delivery:
    """Many delivered rows, and a few of each other status; one of the delivered ones."""
    row = record()[0]
    for status in (S.UNKNOWN, S.FAILED, S.EXPIRED, S.CANCELLED):
        row_in(status, f"run-{status}")
    with connection.cursor() as cursor:
        cursor.execute(FILL, [row.message_id, ROWS])
        cursor.execute("ANALYZE ledgers_delivery, ledgers_message, ledgers_attempt, ledgers_event")
    return Delivery.objects.get(idempotency_key="key-777")


def plans(client: Client, url: str, query: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The nodes of the plans of all that a page asks about deliveries."""
    with CaptureQueriesContext(connection) as seen:
        assert client.get(url, query).status_code == 200
    asked = [q["sql"] for q in seen if "ledgers_delivery" in q["sql"] and "SELECT" in q["sql"]]
    with connection.cursor() as cursor:
        for sql in asked:
            cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
            (found,) = cursor.fetchone()
            plan = found if isinstance(found, list) else json.loads(found)
            yield from _nodes(plan[0]["Plan"])


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def indexes(client: Client, url: str, query: dict[str, str]) -> set[str]:
    """The indexes that a page's statements use; it must read no table of deliveries as a whole."""
    nodes = list(plans(client, url, query))
    whole = [n for n in nodes if n["Node Type"] == "Seq Scan"]
    assert "ledgers_delivery" not in {n["Relation Name"] for n in whole}
    return {n["Index Name"] for n in nodes if "Index Name" in n}


def test_triage_uses_its_partial_index(admin: Client, large: Delivery) -> None:
    assert "delivery_unknown" in indexes(admin, reverse("admin:triage"), {})


@pytest.mark.parametrize(
    ("term", "index"),
    [
        ("{row.delivery_id}", "ledgers_delivery_delivery_id_key"),
        ("{row.idempotency_key}", "delivery_key"),
        ("{row.recognizer}", "delivery_recognizer"),
        ("{row.provider_message_id}", "delivery_provider_id"),
        ("https://hooks77.example.com/", "delivery_destination"),
        ("@acme77", "delivery_domain"),
        ("hooks77.example.com", "delivery_domain"),
    ],
)
def test_a_search_uses_the_index_for_what_its_term_looks_like(
    admin: Client, large: Delivery, term: str, index: str
) -> None:
    assert index in indexes(admin, reverse(LIST), {"q": term.format(row=large)})


@pytest.mark.parametrize("status", ["failed", "expired", "cancelled"])
def test_a_list_of_what_is_not_delivered_uses_the_index_of_that(
    admin: Client, large: Delivery, status: str
) -> None:
    assert "delivery_by_status" in indexes(admin, reverse(LIST), {"status__exact": status})


def test_a_list_of_later_generations_uses_its_index(admin: Client, large: Delivery) -> None:
    used = indexes(admin, reverse(LIST), {"generation": "later"})

    assert "delivery_later_generation" in used
