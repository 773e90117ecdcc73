"""One browser and one server for all of it, and a night on call for those who only look."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.test import TransactionTestCase
from playwright.sync_api import Browser
from pytest_django import DjangoDbBlocker

from delivery.simulator.client import Simulator
from tests import database
from tests.browser import chromium, scene, server
from tests.browser.window import Console
from tests.conftest import verify_ledgers


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser/" in item.nodeid:
            item.add_marker("browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium.browser() as one:
        # Playwright keeps an event loop in this thread, and Django would refuse its database here:
        # nothing of ours runs in that loop.
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
        yield one
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="session")
def origin() -> Iterator[str]:
    with server.served() as address:
        yield address


@pytest.fixture(scope="session")
def axe() -> str:
    return chromium.axe_source()


class _Played(TransactionTestCase):
    """What flushes the database after a whole module."""


@pytest.fixture(scope="module")
def night(
    browser: Browser, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """The scene, once for a module whose tests only look at it."""
    del browser, django_db_setup
    case: Any = _Played("__init__")  # as pytest-django does; the stubs do not know these two
    with django_db_blocker.unblock():
        case._pre_setup()
        database.witness.put_back()  # a host that knows its database
        try:
            with scene.played():
                yield
                verify_ledgers()
        finally:
            case._post_teardown()


@pytest.fixture
def console(browser: Browser, transactional_db: None, origin: str) -> Iterator[Console]:
    """The console over an empty ledger, remembering nothing; a browser that opens windows of it."""
    del transactional_db
    cache.clear()
    yield Console(browser, origin)
    cache.clear()


@pytest.fixture(scope="module")
def recipient_process() -> Iterator[Simulator]:
    with Simulator.start() as simulator:
        yield simulator


@pytest.fixture
def recipient(recipient_process: Simulator, monkeypatch: pytest.MonkeyPatch) -> Simulator:
    """A recipient process that remembers nothing of the test before."""
    monkeypatch.setattr("delivery.breaker.OPEN_AFTER", 10_000)
    recipient_process.forget()
    return recipient_process
