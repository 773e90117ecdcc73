"""Every address that a person can come to, found by walking what is registered.

A page of our own is opened as `tests.console.access` says, so one that is new needs no line here.
The states that one page can show are named: they are what differs in looks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from django.contrib import admin
from django.db.models import Model
from django.urls import reverse
from django.utils.http import urlencode

from ledgers.models import Delivery, Run
from ledgers.states import DeliveryStatus as S
from reviews.attention import BY_NAME
from reviews.kinds import Kind, Stage
from reviews.pages.registry import load_pages
from reviews.records import Decision
from tests.admin.pages import page, page_of
from tests.browser.scene import LONG_ROOM, LONG_RUN
from tests.console.access import ACCESS
from tests.console.things import address

LIST_BYTES = 180_000
# What a page may weigh, before anything is compressed.
BUDGETS = {"overview": 80_000}
# Statuses in which the scene leaves a delivery.
SETTLED = (S.PENDING, S.UNKNOWN, S.DELIVERED, S.FAILED, S.CANCELLED)
FORMS = ("User", "Group")
# What the scene leaves, and who looks at it.
DECIDED = (
    (Stage.DRAFT, "", "triager"),
    (Stage.DRAFT, "", "superuser"),
    (Stage.DRAFT, Kind.SEND_OTHERWISE, "triager"),
    (Stage.REQUESTED, Kind.SEND_OTHERWISE, "triager"),
    (Stage.REQUESTED, Kind.SEND_OTHERWISE, "approver"),
    (Stage.EXECUTED, Kind.LEAVE, "superuser"),
    (Stage.EXECUTED, Kind.ARRIVED, "superuser"),
    (Stage.EXECUTED, Kind.SEND_SAME_KEY, "triager"),
)


@dataclass(frozen=True)
class Address:
    """One page as somebody sees it. `find`: its path, once the scene is played."""

    name: str
    find: Callable[[], str]
    role: str = "superuser"
    status: int = 200

    @property
    def budget(self) -> int:
        return BUDGETS.get(self.name, LIST_BYTES)


def every() -> Iterator[Address]:
    yield from registered()
    yield from states()
    yield from stock()
    yield from beside()


def registered() -> Iterator[Address]:
    """All pages of the console."""
    for name, one in load_pages().items():
        if one.kind == "page":
            yield Address(name, partial(_registered, name))


def states() -> Iterator[Address]:
    """The same pages, where they look different."""
    for name in BY_NAME:
        yield _ours("concern", name)
    for status in SETTLED:
        yield Address(f"delivery {status}", partial(_in, status))
    for stage, kind, role in DECIDED:
        yield Address(f"decision {stage} {kind} {role}", partial(_decided, stage, kind), role)
    for slug in ("paused-by-hand", "keyed", "searched"):
        yield _ours("channel", slug)
    for run in (LONG_RUN, "still-running", "digest-2026-12-01"):
        yield Address(f"run {run[:20]}", partial(_run, run))
    yield Address("delivery with long texts", _mean)
    yield Address("delivery, its contents shown", lambda: f"{_mean()}?contents=shown")
    yield Address("delivery as a viewer sees it", _mean, "viewer")
    yield _ours("triage", role="viewer")
    yield _ours("trail", status=400, since="tuesday")
    yield _ours("jump", q="room:a")
    yield _ours("jump", q=LONG_RUN[:-1] * 3)


def stock() -> Iterator[Address]:
    """The admin's own lists, records and forms."""
    for model in admin.site._registry:
        name = model.__name__
        yield Address(f"list of {name}", partial(page, model, "changelist"))
        yield Address(f"one {name}", partial(_first, model, "change"))
        yield Address(f"history of {name}", partial(_first, model, "history"))
        if name in FORMS:
            yield Address(f"new {name}", partial(page, model, "add"))
    for query in ("status__exact=delivered", "q=nobody", "p=2"):
        yield Address(f"deliveries {query}", partial(_deliveries, query))


def beside() -> Iterator[Address]:
    """Where one is before, after, or by mistake."""
    yield Address("sign-in", lambda: reverse("admin:login"), "anonymous")
    yield Address("a new password", lambda: reverse("admin:password_change"))
    yield Address("refused", lambda: "/", "service", 403)
    yield Address("refused by the admin", lambda: "/auth/user/", "viewer", 403)
    yield Address("not found", lambda: "/there-is-nothing/", status=404)


def _registered(name: str) -> str:
    access = ACCESS[name]
    return _path(address(name, access.args), access.query)


def _ours(
    name: str, *args: str, role: str = "superuser", status: int = 200, **query: str
) -> Address:
    def find() -> str:
        return _path(reverse(f"admin:{name}", args=args), query)

    title = " ".join([name, *args, *(text[:20] for text in query.values()), role])
    return Address(title, find, role, status)


def _path(path: str, query: dict[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _in(status: str) -> str:
    row = Delivery.objects.filter(status=status).order_by("pk").first()
    assert row is not None, f"the scene has no delivery that is {status}"
    return reverse("admin:delivery", args=[row.delivery_id])


def _mean() -> str:
    row = Delivery.objects.get(destination=LONG_ROOM)
    return reverse("admin:delivery", args=[row.delivery_id])


def _run(run_id: str) -> str:
    return reverse("admin:run", args=[Run.objects.get(run_id=run_id).pk])


def _decided(stage: str, kind: str) -> str:
    row = Decision.objects.filter(stage=stage, kind=kind).latest("pk")
    return reverse("admin:decision", args=[row.pk])


def _first(model: type[Model], view: str) -> str:
    row = model._default_manager.order_by("pk").first()
    assert row is not None, f"the scene has no {model.__name__}"
    return page_of(row, view)


def _deliveries(query: str) -> str:
    return f"{page(Delivery, 'changelist')}?{query}"
