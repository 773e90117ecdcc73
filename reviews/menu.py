"""The menu: our pages in groups with counts, then the stock lists of records and of people."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from reviews.glance import Glance
from reviews.pages.registry import GROUPS, Page

# What has a page of its own is not listed twice.
OWN_PAGES = {"Channel", "Credential", "Event"}
STOCK = {"ledgers": "Records", "delivery": "Records", "auth": "People"}
# Lists that people open by themselves; the other records are reached from these.
LOOKED_UP = {"Delivery", "Run"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One link. `count`: a short number behind it, or nothing."""

    label: str
    url: str
    count: str
    current: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Links that belong together."""

    label: str
    entries: tuple[Entry, ...]


def menu_of(
    request: HttpRequest, pages: Iterable[Page], apps: list[Any], seen: Glance
) -> list[Group]:
    """What this person may open, in the order of the product."""
    groups: dict[str, list[Entry]] = {name: [] for name in GROUPS}
    listed = [p for p in pages if p.menu and request.user.has_perm(p.codename)]
    for one in sorted(listed, key=lambda p: p.menu.order if p.menu else 0):
        if one.menu:
            groups[one.menu.group].append(_own(request, one, seen))
    for label in STOCK.values():
        groups.setdefault(label, [])
    for app in apps:
        usual = STOCK.get(app["app_label"], app["name"])
        for model in filter(_is_listed, app["models"]):
            name = "Look up" if model["object_name"] in LOOKED_UP else usual
            groups.setdefault(name, []).append(_stock(request, model))
    return [Group(label, tuple(entries)) for label, entries in groups.items() if entries]


def _own(request: HttpRequest, one: Page, seen: Glance) -> Entry:
    label, count = (one.menu.label, one.menu.count) if one.menu else ("", "")
    try:
        url = reverse(f"admin:{one.name}")
    except NoReverseMatch as error:  # a page that takes an argument cannot stand in a menu
        raise ValueError(f"{one.name} has no address of its own") from error
    return Entry(label, url, seen.count(count), request.path == url)


def _is_listed(model: dict[str, Any]) -> bool:
    return bool(model["admin_url"]) and model["object_name"] not in OWN_PAGES


def _stock(request: HttpRequest, model: dict[str, Any]) -> Entry:
    url = model["admin_url"]
    return Entry(str(model["name"]), url, "", request.path.startswith(url))
