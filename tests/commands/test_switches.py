"""The four switches at a shell: the same functions as the pages, with a look ahead."""

import os
import pty
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection

from ledgers.clock import database_now
from ledgers.models import Attempt, Channel, Event, Installation
from tests.commands.shell import typed
from tests.delivery.resident import resident_worker, wait_for
from tests.factories import delivery, make_channel, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)
WHY = ("--reason", "the number  is being ported")


@pytest.fixture
def owed(transactional_db: None) -> Channel:
    """A channel that owes one that can be sent, and one that has expired."""
    channel = make_channel()
    record(["tg:1"])
    record(["tg:late"], run_id="late", not_after=database_now() + timedelta(milliseconds=1))
    return channel


def test_a_pause_is_the_pages_pause_and_says_that_a_shell_did_it(owed: Channel) -> None:
    said = typed("pause", "alerts", *WHY)
    sweep()

    owed.refresh_from_db()
    event = Event.objects.get(kind="pause")
    assert (said.code, said.out) == (0, "The channel alerts is paused. 2 owed wait.\n")
    assert owed.pause_reason == "the number is being ported"
    assert event.actor.startswith("shell:")
    assert event.detail == {"channel": "alerts", "reason": "the number is being ported"}
    assert delivery("tg:1").status == "pending"


def test_resuming_shows_what_it_would_send_and_changes_nothing_unasked(owed: Channel) -> None:
    typed("pause", "alerts", *WHY)

    shown = typed("resume", "alerts", *WHY)
    told = typed("resume", "alerts", *WHY, "--json")

    owed.refresh_from_db()
    assert (shown.code, told.code, owed.paused_at is None) == (1, 1, False)
    assert "1 sent at once" in shown.out
    assert "1 expired meanwhile: not sent" in shown.out
    assert "Nothing was changed" in shown.out
    assert told.json == {
        "switch": "resume",
        "changed": False,
        "channel": "alerts",
        "waiting": 2,
        "looked_at": 2,
        "courses": {"sent at once": 1, "expired meanwhile: not sent": 1},
    }


def test_with_yes_it_goes_on_at_once(owed: Channel) -> None:
    typed("pause", "alerts", *WHY)
    sweep()

    said = typed("resume", "alerts", *WHY, "--yes", "--json")
    sweep()

    assert (said.code, said.json["changed"], said.json["waiting"]) == (0, True, 1)
    assert delivery("tg:1").status == "delivered"


def at_a_terminal(line: str, *words: str) -> tuple[int, str]:
    """Type a command at a real terminal, and one line at what it asks there."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), *words],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        os.close(theirs)
        os.write(ours, line.encode())
        said = process.communicate(timeout=60)[0]
    os.close(ours)
    return process.returncode, said


@pytest.mark.parametrize(("line", "code"), [("y\n", 0), ("\n", 1)])
def test_at_a_terminal_one_is_asked(owed: Channel, line: str, code: int) -> None:
    typed("pause", "alerts", *WHY)

    returned, said = at_a_terminal(line, "resume", "alerts", *WHY)

    owed.refresh_from_db()
    assert (returned, owed.paused_at is None) == (code, code == 0)
    assert said.index("1 sent at once") < said.index("Resume alerts now? [y/N]")


def test_holding_and_releasing_everything(owed: Channel) -> None:
    held = typed("hold", *WHY, "--json")
    sweep()
    waits = delivery("tg:1").status
    shown = typed("release", *WHY)
    released = typed("release", *WHY, "--yes")
    sweep()

    assert (held.code, held.json) == (0, {"switch": "hold", "changed": True, "owed": 2})
    assert (waits, shown.code, released.code) == ("pending", 1, 0)
    assert "Paused channels stay paused." in released.out
    assert Installation.objects.get().held_at is None
    assert delivery("tg:1").status == "delivered"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("resume", "alerts"), "is not paused"),
        (("release",), "Nothing is held"),
    ],
)
def test_what_does_not_stand_so_is_refused_in_words_and_in_the_trail(
    owed: Channel, words: tuple[str, ...], said: str
) -> None:
    name, *rest = words
    refused = typed(name, *rest, *WHY, "--yes", "--json")

    assert refused.code == 1
    assert said in refused.json["error"]
    event = Event.objects.get(kind="refuse")
    assert event.actor.startswith("shell:")
    assert (event.detail["page"], said in event.detail["why"]) == (name, True)


def test_whoever_comes_second_is_told_and_the_first_reason_stays(owed: Channel) -> None:
    for name, rest in (("pause", ["alerts"]), ("hold", [])):
        typed(name, *rest, "--reason", "first")

        second = typed(name, *rest, "--reason", "second")

        assert (second.code, "already" in second.err) == (1, True)

    owed.refresh_from_db()
    assert (owed.pause_reason, Installation.objects.get().held_reason) == ("first", "first")


@pytest.mark.parametrize("name", ["pause", "resume"])
@pytest.mark.parametrize("slug", ["nowhere", "a\x1b[2Jb", "\udcff", ""])
def test_a_channel_that_is_none_is_a_misuse_that_names_those_there_are(
    owed: Channel, name: str, slug: str
) -> None:
    said = typed(name, slug, *WHY)

    assert said.code == 2
    assert "There are: alerts." in said.err
    assert "\x1b" not in said.err


@pytest.mark.parametrize("words", [("pause", "alerts"), ("hold",), ("resume", "alerts")])
@pytest.mark.parametrize("reason", [None, "", "  ", "x" * 301, "a\x1bb"])
def test_without_a_proper_reason_nothing_is_changed(
    owed: Channel, words: tuple[str, ...], reason: str | None
) -> None:
    said = typed(*words, *([] if reason is None else ["--reason", reason]))

    assert (said.code, "--reason" in said.err) == (2, True)
    assert not Event.objects.filter(kind__in=["pause", "hold_all", "refuse"]).exists()


def test_a_hold_stops_a_running_worker_within_five_seconds(owed: Channel) -> None:
    """What is recorded after the hold is claimed by a worker that lives, and not sent."""
    with resident_worker():
        wait_for("SELECT count(*) = 1 FROM ledgers_delivery WHERE status = 'delivered'")
        typed("hold", *WHY)
        for n in range(12):
            record([f"tg:after-{n}"], run_id=f"after-{n}")
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(0.5)")
        wait_for("SELECT bool_or(cause LIKE '%%everything is held%%') FROM ledgers_delivery")
        held_at = Installation.objects.get().held_at
        assert held_at is not None
        late = Attempt.objects.filter(opened_at__gt=held_at + timedelta(seconds=5)).count()
        waiting = delivery("tg:after-11", "after-11").status
        typed("release", *WHY, "--yes")
        wait_for("SELECT bool_and(status IN ('delivered', 'expired')) FROM ledgers_delivery")

    assert (late, waiting) == (0, "pending")
