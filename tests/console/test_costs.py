"""No page and no list asks the database more often because there is more to show."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin as django_admin
from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ledgers.models import Channel
from reviews.pages.registry import PAGES, load_pages
from tests.admin.pages import page, page_of
from tests.console.access import ACCESS
from tests.console.crowds import crowd
from tests.console.things import address

pytestmark = pytest.mark.django_db
FEW, MANY = 3, 60
MOST = 30  # statements, for any page
LOOKED_AT = ("page", "fragment")  # an export asks once per so many rows


@pytest.mark.timeout(400)
def test_every_page_and_every_list_asks_as_often_however_much_there_is(
    admin: Client, channel: Channel
) -> None:
    costs(admin, 1)  # what a process remembers from the first time on is remembered
    few, many = costs(admin, FEW), costs(admin, MANY)

    assert set(PAGES) - set(few) == {n for n, one in PAGES.items() if one.kind not in LOOKED_AT}
    assert few == many
    assert max(many.values()) <= MOST


def costs(client: Client, count: int) -> dict[str, int]:
    """The number of statements of every page, with so many of everything; undone again."""
    with transaction.atomic():
        crowd(count)
        found = {name: _statements(client, *asked) for name, asked in places().items()}
        transaction.set_rollback(True)
    return found


def places() -> dict[str, tuple[str, dict[str, str]]]:
    """The address of everything that can be looked at: a new page needs no word here."""
    return dict([*_own_pages(), *_stock_pages()])


def _own_pages() -> Iterator[tuple[str, tuple[str, dict[str, str]]]]:
    for name, one in load_pages().items():
        if one.kind in LOOKED_AT:
            yield name, (address(name, ACCESS[name].args), ACCESS[name].query)


def _stock_pages() -> Iterator[tuple[str, tuple[str, dict[str, str]]]]:
    for model, registered in django_admin.site._registry.items():
        name = model._meta.label
        yield f"list of {name}", (page(model, "changelist"), {})
        for one in registered.list_filter:
            if isinstance(one, type):
                listed: Any = one
                yield f"{name} by {listed.title}", (page(model, "changelist"), _any(listed, model))
        if row := model._default_manager.order_by("pk").first():
            yield f"record of {name}", (page_of(row), {})


def _any(listed: Any, model: Any) -> dict[str, str]:
    """The first thing that a filter offers."""
    offered = listed(None, {}, model, None).lookup_choices
    return {listed.parameter_name: str(offered[0][0])}


def _statements(client: Client, url: str, query: dict[str, str]) -> int:
    cache.clear()
    with CaptureQueriesContext(connection) as seen:
        assert client.get(url, query).status_code == 200, url
    return len(seen)
