"""Who takes care of what: the next one, another person, and never two people the same one."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from ledgers.models import Channel, Delivery, Event
from ledgers.states import DeliveryStatus as S
from reviews.assigning import take_first, takers
from reviews.records import Assignment
from tests.console.conftest import As
from tests.console.people import person
from tests.console.things import an_unknown
from tests.ledgers.rows import row_in

pytestmark = [pytest.mark.django_db, pytest.mark.unverified_ledgers]


def post(client: Client, name: str, *args: object, **form: str) -> str:
    answer = client.post(reverse(f"admin:{name}", args=args), form, follow=True)
    return answer.content.decode()


def owners() -> dict[str, str]:
    return dict(Assignment.objects.values_list("delivery__message__step__run__run_id", "person"))


def test_each_who_asks_for_the_next_one_gets_another(channel: Channel, browse_as: As) -> None:
    row_in(S.UNKNOWN, "run-1")
    row_in(S.UNKNOWN, "run-2")

    post(browse_as("triager"), "triage_next")
    post(browse_as("superuser"), "triage_next")
    said = post(browse_as("superuser"), "triage_next")

    assert owners() == {"run-1": "triager", "run-2": "superuser"}
    assert "Nothing is left to take." in said
    assert Event.objects.filter(kind="assign").count() == 2


def test_the_next_one_of_a_channel_is_one_of_that_channel(channel: Channel, browse_as: As) -> None:
    row_in(S.UNKNOWN, "run-1")

    said = post(browse_as("triager"), "triage_next", channel="another")

    assert "Nothing is left to take." in said
    assert owners() == {}


def test_what_somebody_took_a_moment_ago_is_not_taken_from_them(channel: Channel) -> None:
    row = an_unknown()

    first, second = take_first([row.pk], "ann"), take_first([row.pk], "bob")

    assert (first, second) == (row.pk, None)
    assert Assignment.objects.get().person == "ann"


def test_it_is_handed_to_who_may_take_it_and_to_nobody_else(
    channel: Channel, browse_as: As
) -> None:
    row = an_unknown()
    person("superuser")
    triager = browse_as("triager")

    refused = post(triager, "delivery_hand", row.delivery_id, person="viewer")
    done = post(triager, "delivery_hand", row.delivery_id, person="superuser")

    assert "Nobody of this name may take it." in refused
    assert "It is handed over to superuser." in done
    assert Assignment.objects.get().person == "superuser"
    assert Event.objects.get(kind="assign").detail == {"to": "superuser"}


def test_only_who_may_triage_and_sign_in_is_offered() -> None:
    for role in ("triager", "viewer", "outsider", "superuser"):
        person(role)
    User.objects.filter(username="superuser").update(is_active=False)

    assert takers() == ["triager"]


def test_the_page_leads_on_to_the_most_urgent_other_one(channel: Channel, browse_as: As) -> None:
    row_in(S.UNKNOWN, "run-1")
    row_in(S.UNKNOWN, "run-2")
    first, second = Delivery.objects.order_by("pk")

    def leads(here: Delivery, there: Delivery) -> bool:
        page = browse_as("triager").get(reverse("admin:delivery", args=[here.delivery_id]))
        link = f'rel="next" href="{reverse("admin:delivery", args=[there.delivery_id])}"'
        return link in page.content.decode()

    assert leads(first, second)
    assert leads(second, first)
