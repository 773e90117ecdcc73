"""Every page, fragment, action and export of the console, registered in one place.

`admin_view` only asks whether somebody may sign in. So a view cannot be registered without the
permission that it takes, and a test compares this list with its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Literal

from django.http import HttpRequest
from django.http.response import HttpResponseBase

View = Callable[..., HttpResponseBase]
# A page is read; a fragment is a part of one, read again; an action changes something (POST); an
# export leaves the house.
Kind = Literal["page", "fragment", "action", "export"]
METHODS: dict[Kind, tuple[str, ...]] = {
    "page": ("GET", "HEAD"),
    "fragment": ("GET", "HEAD"),
    "action": ("POST",),
    "export": ("GET",),
}
# Groups of the menu, in order.
GROUPS = ("Now", "Look up", "Ways out")


@dataclass(frozen=True, slots=True)
class Menu:
    """A page's place in the menu. `count`: the name of a number of `reviews.glance.Glance`."""

    group: str
    label: str
    order: int = 50
    count: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One registered view. `permission` is a codename of `reviews.models.Console`."""

    name: str
    route: str
    view: View
    permission: str
    kind: Kind
    menu: Menu | None

    @property
    def methods(self) -> tuple[str, ...]:
        return METHODS[self.kind]

    @property
    def codename(self) -> str:
        return f"reviews.{self.permission}"


PAGES: dict[str, Page] = {}


def page(
    name: str,
    route: str,
    permission: str = "view_console",
    *,
    kind: Kind = "page",
    menu: Menu | None = None,
) -> Callable[[View], View]:
    """Register a view as `admin:name` at `route`.

    Args:
        name: the name of its address, `admin:overview`.
        route: as for `django.urls.path`, without a leading slash.
        permission: what a person needs, besides being staff.
        kind: page, fragment, action (POST only) or export.
        menu: where it stands in the menu, if it does.
    """

    def register(view: View) -> View:
        if name in PAGES:
            raise ValueError(f"two pages are called {name}")
        PAGES[name] = Page(name, route, view, permission, kind, menu)
        return view

    return register


def load_pages() -> dict[str, Page]:
    """All pages: every module beside this one registers its own when it is imported."""
    package = __name__.rpartition(".")[0]
    for module in iter_modules(import_module(package).__path__):
        import_module(f"{package}.{module.name}")
    return PAGES


def may(request: HttpRequest, permission: str) -> bool:
    """Whether the person of this request has a permission of the console."""
    return request.user.has_perm(f"reviews.{permission}")
