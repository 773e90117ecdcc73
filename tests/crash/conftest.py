"""A warm parent and a recipient for all crash tests of a session, and the table at its end."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict

import pytest

from delivery.crashlab.laboratory import Laboratory, Pace
from delivery.crashlab.processes import WarmParent
from delivery.crashlab.report import Row, table, verdict
from delivery.simulator.client import Simulator
from tests.crash import clock

ROW = "crashlab"
Noting = Callable[[Row], Row]


@pytest.fixture(scope="session")
def parent(django_db_setup: None) -> Iterator[WarmParent]:
    """Forks clean processes on this session's database."""
    with WarmParent() as parent:
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
    return Laboratory(parent, recipient, clock.pass_s, Pace(60, 10, 5))


@pytest.fixture
def noted(record_property: Callable[[str, object], None]) -> Noting:
    """Put a drill's row into the table that is printed at the end."""

    def note(row: Row) -> Row:
        record_property(ROW, json.dumps(asdict(row)))
        return row

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table of all drills, whichever process ran them, and the verdict in one line."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])]
    rows = [
        Row(**json.loads(value))
        for report in reports
        for name, value in report.user_properties
        if name == ROW
    ]
    if rows:
        rows.sort(key=lambda row: (row.number, row.name))
        terminalreporter.write_line(f"\n{table(rows)}\n\n{verdict(rows)}")
