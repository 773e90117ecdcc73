"""What every test gets: a database of its own kind, honest skips, and ledgers that hold."""

import os
import signal
from collections import Counter
from collections.abc import Generator, Iterator

import hypothesis
import pytest
from pytest_django import DjangoDbBlocker

# A script that starts them in the background has its processes ignore Ctrl-C, and theirs too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

IN_CI = os.environ.get("CI") == "true"
# How long an example takes says how busy the machine is, and nothing about the product.
hypothesis.settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
if not IN_CI:  # there Hypothesis is unhurried by itself
    hypothesis.settings.load_profile("unhurried")
DATABASE_FIXTURES = {"db", "transactional_db", "django_db_reset_sequences", "live_server"}


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """Replaces pytest-django's: a clone of a template instead of migrations in each process."""
    from tests import database

    with django_db_blocker.unblock(), database.cloned(), django_db_blocker.block():
        yield


@pytest.fixture(autouse=True)
def ledgers_hold(request: pytest.FixtureRequest) -> Iterator[None]:
    """A host that knows its database; and every invariant verified after every test that used it.

    Set up after the test's database and torn down before it is rolled back or flushed.
    """
    if not _uses_database(request):
        yield
        return
    request.getfixturevalue("_django_db_helper")
    from tests import database

    database.witness.put_back()
    yield
    if request.node.get_closest_marker("unverified_ledgers") is None:
        verify_ledgers()


def verify_ledgers() -> None:
    """Fail, naming promise and offenders, if the test left a ledger that breaks an invariant."""
    from ledgers import verify

    broken = verify.broken(verify.verify())
    assert not broken, "\n".join(f"{v.promise}: {v.count}: {v.offenders}" for v in broken)


def _uses_database(request: pytest.FixtureRequest) -> bool:
    marked = request.node.get_closest_marker("django_db") is not None
    return marked or not DATABASE_FIXTURES.isdisjoint(request.fixturenames)


# --- Skips: one line each, and a failure in CI -------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and IN_CI:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI counts as failed: {_why(report)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped and IN_CI:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped, which CI counts as failed"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for why, skipped in _by_reason(terminalreporter).items():
        what = skipped[0] if len(skipped) == 1 else f"{len(skipped)} tests"
        terminalreporter.write_line(f"skipped: {what}: {why}")
    for name, total in sorted(_counted(terminalreporter).items()):
        terminalreporter.write_line(f"{name}: {total:,}")


def _by_reason(terminalreporter: pytest.TerminalReporter) -> dict[str, list[str]]:
    """What was skipped: one line for all that miss the same thing."""
    skipped: dict[str, list[str]] = {}
    for report in terminalreporter.stats.get("skipped", []):
        if not hasattr(report, "wasxfail"):
            skipped.setdefault(_why(report), []).append(report.nodeid)
    return skipped


def _counted(terminalreporter: pytest.TerminalReporter) -> Counter[str]:
    """What tests counted (`record_property`), added up over all of them."""
    counted: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if isinstance(value, int):
                counted[name] += value
    return counted


def _why(report: pytest.TestReport | pytest.CollectReport) -> str:
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return str(report.longrepr)
