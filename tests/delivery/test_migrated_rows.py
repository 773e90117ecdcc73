"""The rows that migrations made are there in every test, also after one that emptied the tables."""

import pytest
from django_q.models import Schedule

from ledgers.models import Installation


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("time", ["first", "second"])
def test_after_a_flush_the_installation_and_the_safety_net_are_as_the_migration_made_them(
    time: str,
) -> None:
    assert Installation.objects.count() == 1
    schedule = Schedule.objects.get()
    assert (schedule.func, schedule.minutes, schedule.repeats) == (
        "delivery.tasks.work_shift",
        1,
        -1,
    )


@pytest.mark.django_db
def test_the_safety_net_names_a_task_that_exists() -> None:
    from delivery import tasks

    module, _, name = Schedule.objects.get().func.rpartition(".")

    assert (module, callable(getattr(tasks, name))) == ("delivery.tasks", True)
