"""Every page, fragment, action and export, opened by everybody."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from ledgers.models import Attempt, Channel, Delivery, Event, Evidence, Message, Run, Step
from ledgers.states import DeliveryStatus as S
from reviews.pages.registry import PAGES, load_pages
from reviews.roles import ROLES, ensure_roles
from tests.admin.pages import page, page_of
from tests.console.access import ACCESS, CONTENTS, NOT_LET_IN, RECORDS, Access
from tests.console.conftest import As
from tests.console.people import EVERYBODY, browser_of, person
from tests.console.things import address, filled
from tests.ledgers.rows import row_in

pytestmark = pytest.mark.django_db


def ask(client: Client, name: str, access: Access) -> Any:
    """Open it as it is meant to be opened."""
    url = address(name, access.args)
    if PAGES[name].kind == "action":
        return client.post(url, filled(access.form))
    return client.get(url, access.query)


def test_every_registered_page_says_here_who_may_open_it() -> None:
    assert set(load_pages()) == set(ACCESS)


@pytest.mark.parametrize("name", ACCESS)
def test_a_page_opens_for_its_roles_and_for_nobody_else(name: str, channel: Channel) -> None:
    del channel
    access = ACCESS[name]

    answers = {role: ask(browser_of(role), name, access) for role in EVERYBODY}

    for role, answer in answers.items():
        if role in NOT_LET_IN:
            assert answer.status_code == 302, role
            assert answer.url.startswith(reverse("admin:login")), role
        elif role in access.roles:
            assert answer.status_code in {200, 302}, role
            assert "login" not in getattr(answer, "url", ""), role
        else:
            assert answer.status_code == 403, role


@pytest.mark.parametrize("name", [n for n in ACCESS if n in load_pages()])
def test_only_an_action_may_be_posted_to_and_only_posted_to(
    name: str, admin: Client, channel: Channel
) -> None:
    del channel
    url = address(name, ACCESS[name].args)
    answer = admin.get(url) if PAGES[name].kind == "action" else admin.post(url, {})

    assert answer.status_code == 405


def test_an_action_without_a_token_is_refused(channel: Channel) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(person("superuser"))

    assert (
        strict.post(reverse("admin:pause", args=[channel.slug]), {"reason": "x"}).status_code == 403
    )
    channel.refresh_from_db()
    assert channel.paused_at is None


def test_a_refusal_names_the_permission_and_refused_actions_are_in_the_trail(
    browse_as: As, channel: Channel
) -> None:
    answer = browse_as("viewer").post(
        reverse("admin:pause", args=[channel.slug]), {"reason": "because"}
    )

    said = answer.content.decode()
    assert "pause and resume channels, and hold everything" in said
    assert "by the role operator-admin." in said
    event = Event.objects.get(kind="refuse")
    assert (event.actor, event.detail["page"]) == ("viewer", "pause")


def test_reading_what_one_may_not_read_leaves_no_event(browse_as: As) -> None:
    assert browse_as("service").get("/").status_code == 403
    assert not Event.objects.filter(kind="refuse").exists()


@pytest.mark.parametrize("model", [Delivery, Run, Event])
def test_records_without_contents_are_open_to_every_role_but_service(
    model: Any, channel: Channel
) -> None:
    row_in(S.DELIVERED)
    row = model.objects.first()

    opened = {r for r in EVERYBODY if browser_of(r).get(page_of(row)).status_code == 200}

    assert opened == RECORDS


@pytest.mark.parametrize("model", [Message, Step, Attempt])
def test_contents_take_their_own_permission_and_each_look_is_in_the_trail(
    model: Any, channel: Channel
) -> None:
    row_in(S.DELIVERED)
    row = model.objects.first()

    opened = {r for r in EVERYBODY if browser_of(r).get(page_of(row)).status_code == 200}

    assert opened == CONTENTS
    looks = Event.objects.filter(kind="view_payload")
    assert {look.actor for look in looks} == CONTENTS
    assert {look.detail["record"] for look in looks} == {model.__name__.lower()}


def test_the_permission_to_see_contents_alone_opens_them(channel: Channel) -> None:
    """A group that was given `view_message` by hand does not show contents by accident."""
    row_in(S.DELIVERED)
    browser = browser_of("viewer")
    Group.objects.get(name="viewer").permissions.add(
        Permission.objects.get(codename="view_message")
    )

    answer = browser.get(page_of(Message.objects.get()))

    assert answer.status_code == 403
    assert "permission to see contents, answers and results" in answer.content.decode()


@pytest.mark.parametrize("model", [Channel, Attempt, Evidence])
def test_lists_of_records_without_permission_are_refused(model: Any) -> None:
    assert browser_of("service").get(page(model, "changelist")).status_code == 403


def test_roles_are_made_anew_as_they_are_written_after_every_migration() -> None:
    viewer = Group.objects.get(name="viewer")
    viewer.permissions.set([Permission.objects.get(codename="export_trail")])
    Group.objects.filter(name="auditor").delete()

    call_command("migrate", verbosity=0)

    def names(role: str) -> set[str]:
        rows = Group.objects.get(name=role).permissions.values_list(
            "content_type__app_label", "codename"
        )
        return {f"{app}.{codename}" for app, codename in rows}

    assert {role: names(role) for role in ROLES} == {r: set(p) for r, p in ROLES.items()}


def test_keeping_the_roles_twice_changes_nothing() -> None:
    before = list(Group.permissions.through.objects.order_by("pk").values_list())

    ensure_roles()

    assert list(Group.permissions.through.objects.order_by("pk").values_list()) == before
