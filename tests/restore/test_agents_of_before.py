"""Agents that were at work when the database was put back, and whose work it has forgotten."""

import pytest

from delivery import agent
from ledgers.errors import LeaseLostError
from ledgers.models import Channel, Run
from tests.delivery.senders import Desk
from tests.factories import deliveries, message, sweep
from tests.restore.backups import Backup

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_agent_of_before_does_not_do_its_work_in_the_name_of_another_run(
    alerts: Channel, desk: Desk
) -> None:
    """The restored database gave the numbers of its run and its step to others."""
    sweep()

    with pytest.raises(LeaseLostError, match="has forgotten this work"):
        be_forgotten_at_work()

    assert [row.destination for row in deliveries("new")] == ["tg:new"]
    assert list(Run.objects.values_list("run_id", "status")) == [("new", "completed")]


def be_forgotten_at_work() -> None:
    backup = Backup.now()
    with agent.run("old", agent="a") as run:
        step = run.step("write")
        backup.restore()
        with agent.run("new", agent="b") as another:
            theirs = another.step("write")
            for act in (
                lambda: step.complete({"of": "old"}, [message(["tg:old"], "hello")]),
                lambda: step.record([message(["tg:old"], "hello")]),
                lambda: run.step("second"),
                step.renew,
            ):
                with pytest.raises(LeaseLostError):
                    act()
            theirs.complete({"of": "new"}, [message(["tg:new"], "hello")])
            assert theirs.result == {"of": "new"}


def test_who_waits_for_what_is_forgotten_is_told_and_not_given_anothers_standing(
    alerts: Channel, desk: Desk
) -> None:
    backup = Backup.now()
    with agent.run("old", agent="a") as run:
        step = run.step("write")
        step.complete({"of": "old"}, [message(["tg:old"], "hello")])
    backup.restore()
    with agent.run("new", agent="b") as another:
        another.step("write").complete({"of": "new"}, [message(["tg:new"], "hello")])

    for look in (step.sent.standing, lambda: step.sent.wait(0.1)):
        with pytest.raises(LeaseLostError, match="'old' is not as it was"):
            look()
