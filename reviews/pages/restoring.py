"""The hold of a restore: why, what it has put in doubt, and a person's word about it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.db import DatabaseError, transaction
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

from delivery import lifting
from delivery.errors import SwitchError
from ledgers import instance
from ledgers.errors import InvalidValueError
from ledgers.models import Channel, Event, Installation
from reviews.capability import Capability, capability
from reviews.pages.deciding import to_decision
from reviews.pages.registry import Menu, may, page
from reviews.pages.shown import show
from reviews.pages.switching import done, reason, seen
from reviews.people import person_of
from reviews.refusals import actor
from reviews.restored import DUE, SHOWN, Group, select_group, standing

SINCE = "later, or it was recorded since"


@dataclass(frozen=True, slots=True)
class Row:
    """One group in words. `then`: what workers do with what is open in it, unless a person does."""

    group: Group
    due: str
    shown: str
    then: str


@page("restore", "restore/", menu=Menu("Ways out", "Restore hold", 30))
def restore(request: HttpRequest) -> HttpResponseBase:
    """Which database this is, what became doubtful, and what to do now."""
    now = standing()
    known = instance.Instance.read(Installation.objects.values_list("instance", flat=True).get())
    context: dict[str, Any] = {
        "now": now,
        "present": _present(),
        "known": str(known) if known else "none yet: no worker has run",
        "found": Event.objects.filter(kind="restore_found").order_by("-pk").first(),
        "rows": _rows(now.groups),
        "total": sum(group.count for group in now.groups),
        "may_switch": may(request, "operate_channels"),
        "may_decide": may(request, "decide"),
    }
    return show(request, "console/restore.html", "Restore hold", context)


def _rows(groups: tuple[Group, ...]) -> list[Row]:
    slugs = {group.channel for group in groups}
    channels = Channel.objects.filter(slug__in=slugs).select_related("credential")
    able = {one.slug: capability(one) for one in channels}
    return [
        Row(
            group,
            SINCE if group.due == "since" else DUE[group.due],
            SHOWN[group.shown],
            _then(able[group.channel]) if group.open else "",
        )
        for group in groups
    ]


def _then(can: Capability) -> str:
    if can.declared is None:
        return "waits for a person: its adapter is not installed"
    if not can.window_words:
        return "goes out once more under the same key, while the provider recognises it"
    if can.declared.can_look_up:
        return "searched on the channel's schedule; what that cannot tell waits for a person"
    return "waits for a person: nobody can look"


def _present() -> str:
    """The database as it is now; a server that takes no writes does not say."""
    try:
        with transaction.atomic():
            return str(instance.present())
    except DatabaseError:
        return "a server in recovery, which takes no writes: nothing can be sent from it"


@page("restore_select", "restore/select/", "decide", kind="action")
def select(request: HttpRequest) -> HttpResponseBase:
    """Freeze a group as it stands, and decide about all of it at once."""
    try:
        draft = select_group(person_of(request.user), request.POST.get("group", ""))
    except InvalidValueError:
        messages.warning(request, "Nothing of it is open any more. Look at it again.")
        return HttpResponseRedirect(reverse("admin:restore"))
    return HttpResponseRedirect(to_decision(draft.pk))


@page("restore_confirm", "restore/confirm/", "operate_channels", kind="action")
def confirm(request: HttpRequest) -> HttpResponseBase:
    """It is the database that it always was."""

    def act() -> str:
        lifting.confirm(seen(request), reason(request), actor(request))
        return "Workers know this database again, and go on."

    return done(request, act, reverse("admin:restore"))


@page("restore_declare", "restore/declare/", "operate_channels", kind="action")
def declare(request: HttpRequest) -> HttpResponseBase:
    """It was restored, whether or not a worker could notice."""

    def act() -> str:
        lifting.declare_restored(reason(request), actor(request))
        return "Everything is held, and all that is open counts as possibly sent."

    return done(request, act, reverse("admin:restore"))


@page("restore_lift", "restore/lift/", "operate_channels", kind="action")
def lift(request: HttpRequest) -> HttpResponseBase:
    """Work goes on after a restore."""

    def act() -> str:
        until = _until(request.POST.get("doubt_until", ""))
        lifting.lift(seen(request), reason(request), actor(request), doubt_until=until)
        return "Work goes on. What is still in doubt stays unknown."

    return done(request, act, reverse("admin:restore"))


def _until(typed: str) -> datetime | None:
    """The form's moment, in UTC.

    Raises:
        SwitchError: it is none.
    """
    if not typed:
        return None
    try:
        at = datetime.fromisoformat(typed)
    except ValueError:
        raise SwitchError(
            f"{typed[:40]!r} is no moment. Right would be one in UTC, such as 2026-12-01T08:00."
        ) from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
