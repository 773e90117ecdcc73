"""Sample data and a clock that is put back are for a marked database, and for no other."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.core.management import call_command
from django.db import connection

from config.demo import sample
from config.demo.day.fill import fill
from config.demo.past import SCHEMA, the_past
from config.demo.sample import refuse_unless_sample
from config.demo.scene import AGENT
from delivery.simulator.client import Simulator
from ledgers import runs
from ledgers.clock import database_now
from ledgers.management.command import MisuseError
from ledgers.models import Channel, Event, Run
from tests.commands.shell import typed
from tests.factories import make_channel


@pytest.fixture
def scratch(transactional_db: None) -> Iterator[str]:
    """A database of its own beside the test's, migrated and marked."""
    usual = connection.settings_dict["NAME"]
    name = f"{usual}_sample"
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}"')
    connection.close()
    connection.settings_dict["NAME"] = name
    call_command("migrate", verbosity=0, interactive=False)
    sample.mark()
    yield name
    connection.close()
    connection.settings_dict["NAME"] = usual
    with connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.mark.usefixtures("database")
def test_the_sample_day_refuses_a_real_installation(recipient: Simulator) -> None:
    with pytest.raises(MisuseError, match="do not carry its mark"):
        fill(recipient)

    assert not Channel.objects.exists()
    assert not Run.objects.exists()


@pytest.mark.usefixtures("a_sample")
def test_a_database_that_an_address_names_is_no_sample_whatever_its_mark(
    settings: LazySettings,
) -> None:
    settings.DATABASE_URL = "postgres://somewhere/real"

    with pytest.raises(MisuseError, match="not the demo's"):
        refuse_unless_sample()


@pytest.mark.usefixtures("database")
def test_ledgers_that_no_demo_made_are_not_thrown_away() -> None:
    runs.open_run("payroll-2026-11", "payroll")

    refused = typed("demo", "--once")

    assert refused.code == 2
    assert "These ledgers hold 'payroll-2026-11', which no demo made" in refused.err
    assert Run.objects.get().run_id == "payroll-2026-11"


@pytest.mark.usefixtures("database")
def test_a_channel_that_somebody_made_keeps_a_demo_away() -> None:
    make_channel(slug="alerts")

    with pytest.raises(MisuseError, match="'alerts', which no demo made"):
        sample.is_used()


@pytest.mark.usefixtures("database")
def test_what_a_demo_without_a_mark_has_left_may_be_thrown_away() -> None:
    runs.open_run("digest-20260101-000000", AGENT)

    assert sample.is_used()


@pytest.mark.usefixtures("scratch")
def test_a_used_sample_is_thrown_away_with_its_mark() -> None:
    assert sample.is_used()  # a demo that was killed has perhaps not recorded anything yet
    runs.open_run("anything", "anybody")

    sample.throw_away()

    assert not connection.introspection.table_names()
    assert not sample.is_sample()
    assert not sample.is_used()


@pytest.mark.usefixtures("a_sample")
def test_in_the_past_every_moment_is_past_and_afterwards_the_clock_is_true(
    recipient: Simulator,
) -> None:
    with the_past(recipient) as past:
        past.go_to(past.now - timedelta(hours=40))
        runs.open_run("then", "agent")
    runs.open_run("now", "agent")

    then, now = Run.objects.get(run_id="then"), Run.objects.get(run_id="now")
    away = timedelta(hours=40), timedelta(hours=40, minutes=2)
    assert away[0] <= now.started_at - then.started_at < away[1]  # a column's default
    events = Event.objects.order_by("pk")
    assert away[0] <= events[1].at - events[0].at < away[1]
    with connection.cursor() as cursor:
        cursor.execute("SELECT now() - clock_timestamp(), to_regnamespace(%s)", [SCHEMA])
        apart, schema = cursor.fetchone()
    assert abs(apart) < timedelta(seconds=5)
    assert schema is None


@pytest.mark.usefixtures("a_sample")
def test_the_clock_is_true_again_after_an_error_in_the_past(recipient: Simulator) -> None:
    with pytest.raises(InterruptedError):
        _break_off_in_the_past(recipient)

    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        assert abs(cursor.fetchone()[0] - database_now()) < timedelta(seconds=5)


def _break_off_in_the_past(recipient: Simulator) -> None:
    with the_past(recipient) as past:
        past.go_to(past.now - timedelta(hours=40))
        raise InterruptedError


@pytest.mark.usefixtures("a_sample")
def test_time_does_not_go_back_in_the_past_nor_beyond_the_present(recipient: Simulator) -> None:
    with the_past(recipient) as past:
        past.go_to(past.now - timedelta(hours=2))

        with pytest.raises(ValueError, match="is not between"):
            past.go_to(past.now - timedelta(hours=3))
        with pytest.raises(ValueError, match="is not between"):
            past.go_to(past.now + timedelta(hours=1))
