"""The handbook names nothing that is not there, and quotes what is really said."""

import re
import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib import admin
from django.core.management import CommandError, get_commands, load_command_class
from django.core.management.base import BaseCommand, CommandParser
from django.test import RequestFactory
from django.urls import resolve

from delivery.watch.alarms import Alarm
from delivery.watch.checks.people import nothing_unknown_for_long
from delivery.watch.figures import ChannelFigures, Figures
from delivery.watch.message import message_of
from ledgers.states import DeliveryStatus, RunStatus
from reviews.kinds import Kind
from reviews.menu import menu_of
from reviews.pages.registry import load_pages
from reviews.roles import ROLES
from tests.console.people import person
from tests.docs.pages import (
    HANDBOOK,
    PAGES,
    ROOT,
    Command,
    anchors,
    commands,
    links,
    quoted,
    shown,
    with_places,
)

IMAGES = ROOT / "docs/images"
WIDEST, HEAVIEST = 1440, 300_000
TEXT = HANDBOOK.read_text("utf-8")
NAMED = {str(command): command for command in commands()}


def parser_of(name: str) -> CommandParser:
    """How a command understands its words; its own or one of Django's."""
    app = get_commands()[name]
    command = app if isinstance(app, BaseCommand) else load_command_class(app, name)
    return command.create_parser("manage.py", name)


def misuse(name: str, words: list[str]) -> str:
    """What a command would complain of; not that something is missing, as in a table of names."""
    try:
        parser_of(name).parse_args([word for word in words if word != "--help"])
    except CommandError as error:
        return "" if "arguments are required" in str(error) else str(error)
    return ""


@pytest.mark.parametrize("command", NAMED.values(), ids=NAMED)
def test_every_command_that_a_page_names_exists_and_its_options_parse(command: Command) -> None:
    name, *words = command.words

    assert name in get_commands()
    assert misuse(name, words) == ""


def test_a_command_or_an_option_that_does_not_exist_would_be_noticed() -> None:
    assert "unrecognized arguments" in misuse("watch", ["--shout"])
    assert "invalid choice" in misuse("decide", ["guess"])
    assert len(NAMED) > 40


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    for target in links(page):
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), target
        if anchor:
            assert anchor in anchors(there), target


def test_every_picture_is_shown_somewhere_and_none_is_too_wide_or_too_heavy() -> None:
    linked = {
        (page.parent / target).resolve()
        for page in PAGES
        for target in links(page)
        if target.endswith(".png")
    }

    assert linked == set(IMAGES.glob("*.png"))
    for picture in linked:
        head = picture.read_bytes()
        assert struct.unpack(">I", head[16:20]) == (WIDEST,), picture.name
        assert len(head) < HEAVIEST, picture.name


@pytest.mark.django_db
def test_every_page_that_the_handbook_names_is_in_the_menu(rf: RequestFactory) -> None:
    request = rf.get("/")
    request.user = person("superuser")
    apps = admin.site.get_app_list(request)
    glance = admin.site.each_context(request)["glance"]
    labels = {
        entry.label
        for group in menu_of(request, load_pages().values(), apps, glance)
        for entry in group.entries
    }

    named = set(re.findall(r"\*\*([A-Z][a-z]+)\*\*", TEXT))

    assert named
    assert named <= labels


def test_every_address_that_the_handbook_names_is_a_page_of_the_console() -> None:
    addresses = re.findall(r"`(/[a-z/]*/)`", TEXT)

    assert addresses
    for address in addresses:
        assert resolve(address).url_name in load_pages()


def test_what_is_quoted_from_the_console_is_what_it_says() -> None:
    said = shown()

    missing = {one for one in quoted(TEXT) if with_places(one).lower() not in said}

    assert len(quoted(TEXT)) > 30
    assert not missing


def test_every_decision_status_and_role_is_explained_in_the_products_own_words() -> None:
    plain = re.sub(r"\s+", " ", TEXT)
    decisions = [kind.label for kind in Kind if kind != Kind.LOOK_AGAIN]

    assert [one for one in decisions if f"“{one}" not in plain] == []
    for status in DeliveryStatus:
        assert re.search(rf"\| \*{status.value}\* \| [a-z ]+ \| {re.escape(status.label)} \|", TEXT)
    for run in RunStatus:
        assert f"*{run.value.replace('_', ' ')}*" in TEXT
    for role in ROLES:
        assert f"| `{role}` |" in TEXT


def test_the_alarm_that_the_handbook_quotes_is_the_one_that_is_sent(
    settings: LazySettings,
) -> None:
    settings.COUNTERFOIL_CONSOLE_URL = "https://console.example.com/"
    settings.COUNTERFOIL_ENVIRONMENT = "production"
    since = datetime(2026, 12, 1, 2, 9, 58, tzinfo=UTC)
    channel = ChannelFigures("household-sms", unknown=38, unknown_since=since)
    now = since + timedelta(seconds=302)
    (found,) = nothing_unknown_for_long(Figures(now, since, now, 0, (channel,)))

    sent = message_of(
        [Alarm("unknown", found.channel, found.state, found.since, found.sentence, serial=1)]
    )

    assert f"```text\nSubject: {sent.subject}\n\n{sent.text}```" in TEXT


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_setting_that_a_page_names_is_documented(page: Path) -> None:
    known = (ROOT / ".env.example").read_text("utf-8")

    named = set(re.findall(r"\bCOUNTERFOIL_[A-Z_]+\b", page.read_text("utf-8")))

    assert {one for one in named if one not in known} == set()
