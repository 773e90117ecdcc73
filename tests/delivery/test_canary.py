"""Agents note which database they record in, so that one that no worker looks at is found."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from delivery import canary
from delivery.mark import path_of
from delivery.watch.checks import State, findings
from delivery.watch.reading import read_figures
from ledgers import instance
from ledgers.clock import database_now
from ledgers.models import Installation
from tests.factories import make_channel, record, sweep
from tests.watch.scenes import beat

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fresh(settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.COUNTERFOIL_MARK = tmp_path / "mark"
    canary._noted.clear()
    make_channel()
    beat()
    yield
    canary._noted.clear()


def seen() -> tuple[State, str]:
    (found,) = (one for one in findings(read_figures()) if one.check == "elsewhere")
    return found.state, found.sentence


def elsewhere(monkeypatch: pytest.MonkeyPatch) -> instance.Instance:
    """What another process, started with other settings, would be connected to."""
    other = replace(instance.present(), oid=1, name="of_another_profile")
    with monkeypatch.context() as patch:
        patch.setattr(instance, "present", lambda: other)
        record(run_id="elsewhere")
    return other


def test_an_agent_that_records_where_the_workers_are_is_no_trouble() -> None:
    record()

    assert [one.instance for one in canary.recorders()] == [instance.present()]
    assert seen()[0] is State.OK


def test_an_agent_on_another_database_is_seen_from_the_one_that_is_watched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = elsewhere(monkeypatch)
    assert seen()[0] is State.LATE  # a worker may be just starting there

    (noted,) = (canary._folder()).glob("*.json")
    os.utime(noted, (time.time() - 70, time.time() - 70))

    state, sentence = seen()
    assert state is State.RED
    assert other.fingerprint in sentence
    assert instance.present().fingerprint in sentence


def test_what_was_recorded_before_a_restore_is_no_trouble_and_what_comes_after_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = elsewhere(monkeypatch)
    row = Installation.objects.get()
    path_of(row.namespace, before).write_text("{}")  # workers of this host knew it
    (noted,) = canary._folder().glob("*.json")
    then = database_now() - timedelta(seconds=100)
    Installation.objects.update(restored_at=then, restore_point=then, doubt_until=then)

    os.utime(noted, (time.time() - 130, time.time() - 130))
    assert seen()[0] is State.OK

    os.utime(noted, (time.time() - 70, time.time() - 70))
    assert seen()[0] is State.RED


def test_one_note_a_minute_is_enough() -> None:
    record()
    (noted,) = canary._folder().glob("*.json")
    noted.unlink()

    record(run_id="run-2")

    assert canary.recorders() == []


def test_where_nothing_can_be_written_recording_goes_on(settings: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings.COUNTERFOIL_MARK = tmp_path / "file"

    (row,) = record()

    assert row.status == "pending"
    assert canary.recorders() == []


def test_what_is_no_note_is_passed_over() -> None:
    record()
    (canary._folder() / "torn.json").write_text('{"instance": ')
    (canary._folder() / "other.json").write_text('{"instance": {}}')

    assert len(canary.recorders()) == 1
    sweep()
