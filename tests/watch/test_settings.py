"""Where alarms go, as settings say it: what is wrong is named, and what would be right."""

from pathlib import Path
from typing import Any

import pytest
from django.core.checks import Error

from config.environment import Environment, WrongSettingError, console_url
from delivery.watch.vetting import alarms_reach_a_person
from tests.commands.shell import typed
from tests.watch.people import Mailbox
from tests.watch.scenes import beat


@pytest.fixture(autouse=True)
def production(settings: Any) -> None:
    settings.COUNTERFOIL_MODE = "production"
    settings.COUNTERFOIL_ALARM_MAIL = ["oncall@acme.test"]


def told() -> list[tuple[str, str]]:
    return [(str(one.id), one.msg) for one in alarms_reach_a_person()]


def test_a_right_one_is_not_complained_of() -> None:
    assert told() == []


def test_production_without_any_way_is_warned(settings: Any) -> None:
    settings.COUNTERFOIL_ALARM_MAIL = []
    assert [key for key, _ in told()] == ["delivery.W020"]

    settings.COUNTERFOIL_MODE = "local"
    assert told() == []


def test_links_that_lead_nowhere_are_warned_of(settings: Any) -> None:
    settings.COUNTERFOIL_CONSOLE_URL = ""

    assert [key for key, _ in told()] == ["delivery.W023"]


@pytest.mark.parametrize("address", ["ops", "a@b@c", "ops@acme.test\nBcc: x@y.zz", "@acme.test"])
def test_an_address_that_is_none_is_an_error_that_names_the_field(
    settings: Any, address: str
) -> None:
    settings.COUNTERFOIL_ALARM_MAIL = ["oncall@acme.test", address]

    (found,) = alarms_reach_a_person()

    assert isinstance(found, Error)
    assert found.id == "delivery.E021"
    assert found.msg.startswith("COUNTERFOIL_ALARM_MAIL: ")


def test_a_sender_that_is_no_address_is_an_error(settings: Any) -> None:
    settings.DEFAULT_FROM_EMAIL = "Counterfoil"

    assert told()[0][1].startswith("DEFAULT_FROM_EMAIL: ")


@pytest.mark.parametrize(
    "field", ["COUNTERFOIL_ALARM_WEBHOOK", "COUNTERFOIL_CONSOLE_URL", "COUNTERFOIL_DEADMAN_URL"]
)
@pytest.mark.parametrize(
    "url",
    ["hooks.acme.test", "ftp://acme.test/", "https://me:hunter2@acme.test/", "https://[::1/",
     "https://acme.test/#x", "https://acme.test:99999/", "https://acme.test/a b", "https://é.test/"],
)  # fmt: skip
def test_a_url_that_is_none_is_an_error_that_names_the_field_and_not_the_value(
    settings: Any, field: str, url: str
) -> None:
    setattr(settings, field, url)

    (found,) = alarms_reach_a_person()

    assert (found.id, field in found.msg) == ("delivery.E022", True)
    assert url not in found.msg


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("", ("localhost", 25, False, False)),
        ("smtp://mail.acme.test", ("mail.acme.test", 25, False, False)),
        ("smtp+tls://me:p%40ss@mail.acme.test", ("mail.acme.test", 587, True, False)),
        ("smtp+ssl://mail.acme.test", ("mail.acme.test", 465, False, True)),
        ("smtp://mail.acme.test:2525", ("mail.acme.test", 2525, False, False)),
    ],
)
def test_a_mail_servers_address_is_taken_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str, right: tuple[Any, ...]
) -> None:
    monkeypatch.setenv("EMAIL_URL", url)

    read = Environment(tmp_path / "none").mail("EMAIL_URL")

    names = ("EMAIL_HOST", "EMAIL_PORT", "EMAIL_USE_TLS", "EMAIL_USE_SSL")
    assert tuple(read[name] for name in names) == right
    assert read["EMAIL_HOST_PASSWORD"] == ("p@ss" if "p%40ss" in url else "")


@pytest.mark.parametrize("url", ["junk-hunter2", "pop3://hunter2@x", "smtp://", "smtp://x:hunter2"])
def test_a_mail_servers_address_that_is_none_is_refused_without_being_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str
) -> None:
    monkeypatch.setenv("EMAIL_URL", url)

    with pytest.raises(WrongSettingError, match="EMAIL_URL") as refused:
        Environment(tmp_path / "none").mail("EMAIL_URL")

    assert "hunter2" not in str(refused.value)


def test_the_consoles_address_follows_from_the_first_allowed_host() -> None:
    assert console_url(["console.acme.test"], production=True) == "https://console.acme.test/"
    assert console_url([".acme.test"], production=True) == ""
    assert console_url(["localhost"], production=False) == "http://127.0.0.1:8000/"


@pytest.mark.django_db(transaction=True)
def test_a_test_alarm_reaches_the_mailbox_and_says_so(mailbox: Mailbox) -> None:
    told = typed("watch", "--test-alarm", "--json")

    assert told.code == 0
    assert told.json["ways"] == [
        {"way": "mail to oncall@acme.test", "accepted": True, "why_not": ""}
    ]
    assert mailbox.subjects == ["[Counterfoil local] test: alarms reach you"]


@pytest.mark.django_db(transaction=True)
def test_a_test_alarm_that_is_refused_says_why(mailbox: Mailbox) -> None:
    mailbox.answers = [lambda: "550 nobody here"]

    told = typed("watch", "--test-alarm")

    assert told.code == 1
    assert "nobody here" in told.out


def test_a_test_alarm_without_a_way_says_what_to_set(settings: Any) -> None:
    settings.COUNTERFOIL_ALARM_MAIL = []

    told = typed("watch", "--test-alarm")

    assert told.code == 1
    assert "COUNTERFOIL_ALARM_MAIL" in told.out


@pytest.mark.parametrize(
    "words", [["--test-alarm", "--push"], ["--every", "0"], ["--every", "x"], ["--every", "nan"]]
)
def test_wrong_options_are_misuses(words: list[str]) -> None:
    assert typed("watch", *words).code == 2


@pytest.mark.django_db(transaction=True)
def test_a_mistake_in_one_way_is_said_and_stops_no_look(settings: Any) -> None:
    beat()
    settings.COUNTERFOIL_ALARM_WEBHOOK = "nonsense"

    told = typed("watch")

    assert told.code == 0
    assert "delivery.E022" in told.err
