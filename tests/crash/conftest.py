"""A warm parent and a recipient for all crash tests of a session, and the table at its end."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import pytest

from delivery.crashlab.laboratory import Laboratory, Pace
from delivery.crashlab.processes import WarmParent
from delivery.crashlab.report import Row, table, verdict
from delivery.simulator.client import Simulator
from tests.crash import clock
from tests.crash.survey import Found
from tests.crash.surveyed import survey_table

ROW, SURVEY = "crashlab", "survey"
Noting = Callable[[Row], Row]
Surveyed = Callable[[Found], Found]


@pytest.fixture(scope="session")
def parent(django_db_setup: None) -> Iterator[WarmParent]:
    """Forks clean processes on this session's database."""
    with WarmParent("tests.crash.tasks", "tests.crash.deciders") as parent:
        yield parent


@pytest.fixture(scope="session")
def recipient_process() -> Iterator[Simulator]:
    with Simulator.start() as recipient:
        yield recipient


@pytest.fixture
def recipient(recipient_process: Simulator) -> Simulator:
    """A recipient that remembers nothing of earlier tests."""
    recipient_process.forget()
    return recipient_process


@pytest.fixture
def laboratory(transactional_db: None, parent: WarmParent, recipient: Simulator) -> Laboratory:
    """Drills on the tests' database, with the usual lease and deadline, and no waiting."""
    pace = Pace(lease_s=60, deadline_s=10, margin_s=5)
    return Laboratory(parent, recipient, clock.pass_s, pace, "tests.crash.tasks:lane")


@pytest.fixture
def noted(record_property: Callable[[str, object], None]) -> Noting:
    """Put a drill's row into the table that is printed at the end."""

    def note(row: Row) -> Row:
        record_property(ROW, json.dumps(asdict(row)))
        return row

    return note


@pytest.fixture
def surveyed(record_property: Callable[[str, object], None]) -> Surveyed:
    """Put what a survey found into the table that is printed at the end."""

    def note(found: Found) -> Found:
        record_property(SURVEY, json.dumps(asdict(found)))
        return found

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The tables of all drills and surveys, whichever process made them, and the verdict."""
    rows = sorted((Row(**row) for row in _noted(terminalreporter, ROW)), key=_place)
    if rows:
        terminalreporter.write_line(f"\n{table(rows)}\n\n{verdict(rows)}")
    if surveys := _noted(terminalreporter, SURVEY):
        terminalreporter.write_line(f"\n{survey_table(surveys)}")


def _noted(terminalreporter: pytest.TerminalReporter, name: str) -> list[dict[str, Any]]:
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])]
    return [json.loads(v) for report in reports for n, v in report.user_properties if n == name]


def _place(row: Row) -> tuple[int, str]:
    return row.number, row.name
