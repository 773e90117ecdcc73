"""Links in alarms, followed as a triager does; and what the console shows of the ways."""

from urllib.parse import urlsplit

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from delivery.watch.store import note_use
from delivery.watch.ways import configured
from ledgers.models import OutboxItem
from ledgers.states import DeliveryStatus
from reviews.roles import ensure_roles
from tests.console.people import browser_of
from tests.factories import make_channel, record
from tests.ledgers.rows import row_in
from tests.watch.conftest import CONSOLE
from tests.watch.people import Hook, Mailbox
from tests.watch.scenes import beat, overdue, pass_s, push, unknown

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.unverified_ledgers]


@pytest.fixture
def triager(transactional_db: None) -> Client:
    ensure_roles()
    return browser_of("triager")


def follow(browser: Client, hook: Hook, check: str) -> str:
    """What the page shows that the last alarm of this check links to."""
    (link,) = {a["link"] for v in hook.values for a in v["alarms"] if a["check"] == check}
    assert link.startswith(CONSOLE)
    parts = urlsplit(link)
    cache.clear()
    answer = browser.get(f"{parts.path}?{parts.query}")
    assert answer.status_code == 200
    text = answer.content.decode()
    assert not parts.fragment or f'id="{parts.fragment}"' in text
    return text


def test_unknown_leads_to_the_triage_of_its_channel(triager: Client, hook: Hook) -> None:
    make_channel()
    beat()
    row = unknown(310)
    make_channel("pager", settings={"path": "tests.delivery.senders.send"})
    push()

    text = follow(triager, hook, "unknown")

    assert reverse("admin:delivery", args=[row.delivery_id]) in text
    assert "alerts: all of this channel" in text


def test_overdue_leads_to_the_list_of_its_channel_alone(triager: Client, hook: Hook) -> None:
    make_channel()
    make_channel("pager")
    beat()
    row = overdue(70)
    push()
    other = record(run_id="other", channel="pager")[0]
    OutboxItem.objects.filter(pk=other.pk).update(due_at=row.created_at.replace(year=2025))

    text = follow(triager, hook, "overdue")

    assert reverse("admin:delivery", args=[row.delivery_id]) in text
    assert reverse("admin:delivery", args=[other.delivery_id]) not in text


def test_no_worker_leads_to_the_overview(triager: Client, hook: Hook) -> None:
    beat(ago_s=100)
    push()

    assert "No worker is alive." in follow(triager, hook, "worker")


@pytest.mark.parametrize("query", ["channel=none", "channel=%00", "channel=alerts&boundary=x"])
def test_a_channel_that_is_none_lists_nothing_in_triage(triager: Client, query: str) -> None:
    make_channel()
    row = row_in(DeliveryStatus.UNKNOWN)

    text = triager.get(f"{reverse('admin:triage')}?{query}").content.decode()

    assert reverse("admin:delivery", args=[row.delivery_id]) not in text
    assert "Nothing here is unknown any more" in text


@pytest.mark.parametrize("query", ["channel=none", "channel=%00", "channel="])
def test_a_channel_that_is_none_has_no_list(triager: Client, query: str) -> None:
    address = f"{reverse('admin:concern', args=['overdue'])}?{query}"

    assert triager.get(address).status_code == 404


def test_a_whole_channel_cannot_be_taken_or_selected_as_an_incident(triager: Client) -> None:
    make_channel()
    unknown(310)

    taken = triager.post(reverse("admin:triage_take"), {"channel": "alerts"}, follow=True)
    chosen = triager.post(reverse("admin:triage_select"), {"channel": "alerts"}, follow=True)

    assert "0 are yours." in taken.content.decode()
    assert "Nothing of it is unknown any more." in chosen.content.decode()


def test_the_overview_shows_where_alarms_go_and_how_that_went(
    triager: Client, mailbox: Mailbox, hook: Hook
) -> None:
    beat()
    push()
    note_use(configured()[0].name, "")
    note_use(configured()[1].name, "answered 404 <b>Not Found</b>")
    cache.clear()

    text = triager.get("/").content.decode()

    assert "mail to oncall@acme.test" in text
    assert "webhook at 127.0.0.1" in text
    assert "answered 404 &lt;b&gt;" in text
    assert "alarms fail by webhook at 127.0.0.1" in text
    assert "No watch looks." not in text
    assert "s3cr3t" not in text


def test_the_overview_says_that_no_watch_looks(triager: Client, mailbox: Mailbox) -> None:
    beat()
    push()
    pass_s(301)
    cache.clear()

    text = triager.get("/").content.decode()

    assert "Yes: no watch looks." in text


def test_the_overview_says_that_alarms_go_nowhere(triager: Client) -> None:
    beat()

    text = triager.get("/").content.decode()

    assert "Nowhere: neither" in text
    assert "Yes: no watch looks" not in text
