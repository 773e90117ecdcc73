"""What a shell says about a restored ledger, and takes for an answer."""

import pytest

from delivery import lifting, origin
from ledgers.models import Channel, Event
from tests.commands.shell import typed
from tests.delivery.senders import Desk
from tests.factories import delivery, record, sweep
from tests.restore.scenes import forget_mark, lose, whole

pytestmark = pytest.mark.django_db(transaction=True)
WHY = ("--reason", "the old workers are off")


def test_releasing_without_an_answer_says_what_was_noticed_and_changes_nothing(
    alerts: Channel, desk: Desk
) -> None:
    lose(["tg:1", "tg:2"])

    said = typed("release", *WHY, "--yes")
    told = typed("release", *WHY, "--yes", "--json").json

    assert said.code == 1
    assert "it is older than it was: the count of worker" in said.out
    assert "alerts, was due in the time that was lost; not searched since" in said.out
    assert "Nothing was changed. --after-restore lets work go on." in said.out
    assert (told["held"], told["changed"], told["rewinding"]) == ("restored", False, False)
    assert told["groups"] == [{"group": "alerts:meanwhile:unsearched", "count": 2, "open": 2}]
    assert whole().restoring


def test_after_a_restore_work_goes_on_and_what_is_in_doubt_stays_unknown(
    alerts: Channel, desk: Desk
) -> None:
    lose(["tg:1"])

    shown = typed("release", *WHY, "--after-restore")
    done = typed("release", *WHY, "--after-restore", "--yes")
    record(["tg:2"], run_id="later")
    sweep()

    assert (shown.code, done.code) == (1, 0)
    assert "Nothing was changed: it was not confirmed." in shown.out
    assert "Nothing is held any more." in done.out
    assert (delivery("tg:1").status, desk.effects("tg:1")) == ("unknown", 1)
    assert desk.effects("tg:2") == 1
    assert Event.objects.get(kind="release_restored").actor.startswith("shell:")


def test_until_when_runs_may_be_lost_ones_is_a_moment_with_its_zone(
    alerts: Channel, desk: Desk
) -> None:
    lose(["tg:1"])

    wrong = typed("release", *WHY, "--after-restore", "--yes", "--doubt-until", "tomorrow")
    typed("release", *WHY, "--after-restore", "--yes", "--doubt-until", "2036-12-01T08:00:00+00:00")

    assert wrong.code == 2
    assert "Right would be: a moment with its zone in ISO 8601" in wrong.err
    assert f"{whole().doubt_until:%Y-%m-%d %H}" == "2036-12-01 08"


@pytest.mark.parametrize("answer", ["--same-database", "--was-restored"])
def test_where_nobody_can_tell_a_person_says_which_database_it_is(
    alerts: Channel, desk: Desk, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr(origin, "WAIT_S", 0.0)
    record(["tg:1"])
    forget_mark()
    sweep()

    asked = typed("release", *WHY)
    wrong = typed("release", *WHY, "--after-restore", "--yes")
    done = typed("release", *WHY, answer, "--yes")
    sweep()

    assert (asked.code, wrong.code, done.code) == (1, 1, 0)
    assert "--same-database" in asked.out
    assert "That is no answer to why it is held" in wrong.err
    sent = answer == "--same-database"
    assert delivery("tg:1").status == ("delivered" if sent else "unknown")
    assert desk.effects("tg:1") == (1 if sent else 0)


def test_a_restore_that_nothing_noticed_is_told_of(alerts: Channel, desk: Desk) -> None:
    record(["tg:1"])

    said = typed("hold", "--reason", "the machine was turned back", "--restored")
    sweep()

    assert said.code == 0
    assert (delivery("tg:1").status, desk.effects("tg:1")) == ("unknown", 0)
    assert "the machine was turned back" in whole().held_reason


def test_nothing_is_answered_where_nothing_is_asked(alerts: Channel) -> None:
    said = typed("release", *WHY, "--same-database", "--yes")

    assert said.code == 1
    assert "Nothing is held" in said.err


def test_a_hold_that_stood_before_the_restore_is_named(alerts: Channel, desk: Desk) -> None:
    typed("hold", "--reason", "the agent went wild")

    lifting.declare_restored("a dump", "ann")

    assert "held before: the agent went wild" in whole().held_reason
