"""Changing channels and credentials, and making new ones: forms, and what comes of them."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.forms import BoundField
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

from delivery import editing
from delivery.channels.registry import ADAPTERS
from delivery.editing import Form, Settings, what
from delivery.importing import unimportable
from delivery.policy import complaints
from ledgers.errors import InvalidValueError
from ledgers.models import Channel, Credential
from reviews import proposing
from reviews.errors import NotAllowedError
from reviews.pages.channels import find_channel, find_credential
from reviews.pages.registry import page
from reviews.pages.shown import show
from reviews.people import person_of
from reviews.proposing import MAY

# Titles, and the fields under them.
GROUPS: dict[type[Settings], Sequence[tuple[str, Sequence[str]]]] = {
    Channel: (
        ("", ("slug", "adapter", "credential", "scopes_required")),
        ("Settings of the adapter", ("settings",)),
        ("Times, in seconds", ("deadline_s", "margin_s", "lease_s")),
        ("Tries and searches", ("retry_schedule", "max_attempts", "look_up_schedule")),
        ("Limits", ("concurrency", "rate_per_s")),
        ("When the watch complains", ("grace_s", "period_s", "expected_every_s")),
        ("Probes", ("probe_to", "probe_every_s")),
        ("Rules", ("resend_after_absent", "requires_approval", "for_testing")),
    ),
    Credential: (
        ("", ("name", "identity")),
        ("Secret", ("secret_ref", "accept_secret")),
        ("How far it reaches", ("scopes", "destination_rules")),
    ),
}


@page("channel_edit", "channels/<slug:slug>/edit/", MAY)
def channel_edit(request: HttpRequest, slug: str) -> HttpResponseBase:
    """What of a channel can be changed."""
    row = find_channel(slug)
    return _form_page(request, row, editing.filled(row))


@page("channel_propose", "channels/<slug:slug>/propose/", MAY, kind="action")
def channel_propose(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Write a change down, and go on to what it would mean."""
    return _propose(request, find_channel(slug))


@page("credential_edit", "credentials/<slug:name>/edit/", MAY)
def credential_edit(request: HttpRequest, name: str) -> HttpResponseBase:
    """What of a credential can be changed."""
    row = find_credential(name)
    return _form_page(request, row, editing.filled(row))


@page("credential_propose", "credentials/<slug:name>/propose/", MAY, kind="action")
def credential_propose(request: HttpRequest, name: str) -> HttpResponseBase:
    """Write a change down, and go on to what it would mean."""
    return _propose(request, find_credential(name))


@page("channel_new", "new-channel/", MAY)
def channel_new(request: HttpRequest) -> HttpResponseBase:
    """A channel that does not exist yet."""
    return _form_page(request, Channel(), editing.filled(Channel()))


@page("channel_add", "new-channel/add/", MAY, kind="action")
def channel_add(request: HttpRequest) -> HttpResponseBase:
    """Make it. Nothing is owed through it until an agent names it."""
    return _add(request, Channel())


@page("credential_new", "new-credential/", MAY)
def credential_new(request: HttpRequest) -> HttpResponseBase:
    """A credential that does not exist yet."""
    return _form_page(request, Credential(), editing.filled(Credential()))


@page("credential_add", "new-credential/add/", MAY, kind="action")
def credential_add(request: HttpRequest) -> HttpResponseBase:
    """Make it. Nothing is sent with it until a channel uses it."""
    return _add(request, Credential())


def _propose(request: HttpRequest, row: Settings) -> HttpResponseBase:
    kind, seen = type(row), request.POST.get("version", "")
    form = editing.filled(row, request.POST)
    if not form.is_valid():
        # The form has put what was typed into its row: the page's own facts are read again.
        return _form_page(request, kind.objects.get(pk=row.pk), form, status=422)
    try:
        version = int(seen[:9]) if seen.isascii() and seen.isdigit() else 0
        made = proposing.draft(
            person_of(request.user), kind.objects.get(pk=row.pk), editing.wanted(form), version
        )
    except NotAllowedError as error:
        return _form_page(request, kind.objects.get(pk=row.pk), form, said=str(error), status=422)
    return HttpResponseRedirect(reverse("admin:proposal", args=[made.pk]))


def _add(request: HttpRequest, row: Settings) -> HttpResponseBase:
    reason = request.POST.get("reason", "")
    form = editing.filled(row, request.POST)
    if not form.is_valid():
        return _form_page(request, type(row)(), form, status=422)
    try:
        values = editing.wanted(form)
        made = proposing.add(person_of(request.user), type(row), values, reason).row
    except (NotAllowedError, InvalidValueError) as error:
        return _form_page(request, type(row)(), form, said=str(error), status=422)
    messages.success(request, f"The {what(made)} {made} is made. {_NEXT[type(made)]}")
    warn(request, made)
    return HttpResponseRedirect(reverse(f"admin:{what(made)}", args=[str(made)]))


_NEXT: dict[type[Settings], str] = {
    Channel: "Nothing is owed through it until an agent names it.",
    Credential: "Nothing is sent with it until a channel uses it.",
}


def warn(request: HttpRequest, row: Settings) -> None:
    """Say what is no reason to refuse a channel, and still better known at once."""
    if not isinstance(row, Channel):
        return
    for known in complaints(row):
        if not known.fatal:
            messages.warning(request, f"Saved; but {known.text}. {known.hint}")
    # No error: a worker's path may be another than this process's.
    for complaint in unimportable(row):
        text = f"Saved; but here {complaint}. A worker with another path may find it."
        messages.warning(request, text)


def _form_page(
    request: HttpRequest, row: Settings, form: "Form", *, said: str = "", status: int = 200
) -> HttpResponseBase:
    name = what(row)
    new = row.pk is None
    context: dict[str, Any] = {
        "row": row,
        "what": name,
        "form": form,
        "groups": [(title, _fields(form, names)) for title, names in GROUPS[type(row)]],
        "said": said,
        "used": not new and editing.in_use(row),
        "action": reverse(f"admin:{name}_add")
        if new
        else reverse(f"admin:{name}_propose", args=[str(row)]),
        "reason": request.POST.get("reason", ""),
        "adapters": ADAPTERS if name == "channel" else {},
    }
    title = f"New {name}" if new else f"Change the {name} {row}"
    return show(request, "console/editing.html", title, context, status=status)


def _fields(form: "Form", names: Sequence[str]) -> list[BoundField]:
    """A new credential has no fingerprint yet that could be forgotten."""
    is_new = form.instance.pk is None
    return [form[name] for name in names if not (is_new and name == editing.ACCEPT)]
