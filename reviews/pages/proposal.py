"""A proposed change on its way: looked at, asked for, approved or refused."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

from delivery.editing import Settings, in_use
from ledgers.clock import database_now
from ledgers.errors import InvalidValueError
from ledgers.models import Channel, Credential
from reviews import proposing
from reviews.capability import Capability, capability
from reviews.charts.schedule import schedule_of
from reviews.errors import NotAllowedError
from reviews.kinds import Gate, Stage
from reviews.pages.deciding import lacking
from reviews.pages.editing import warn
from reviews.pages.registry import may, page
from reviews.pages.shown import show
from reviews.people import person_of
from reviews.proposals import Proposal
from reviews.proposing import MAY
from reviews.weighing import gate_of, lines_of, moved

# What the tries, drawn against the window, follow from.
DRAWN = {"settings", "adapter", "retry_schedule", "max_attempts", "deadline_s", "margin_s"}


@page("proposal", "proposals/<int:pk>/")
def proposal(request: HttpRequest, pk: int) -> HttpResponseBase:
    """What a change makes different, who must agree, and what became of it."""
    row = find(pk)
    title = f"Change {row.pk} of the {row.what} {row.name}"
    if row.stage == Stage.DRAFT:
        title = f"Confirm: change the {row.what} {row.name}"
    return show(request, "console/proposal.html", title, _context(request, row))


@page("proposal_request", "proposals/<int:pk>/request/", MAY, kind="action")
def proposal_request(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Ask for it; where one person may, it is carried out."""

    def act() -> str:
        made = proposing.request(person_of(request.user), pk, request.POST.get("reason", ""))
        if made.stage == Stage.EXECUTED:
            warn(request, made.row)
            return "Changed. Running workers follow within a second or two."
        return "Asked for. It is carried out once it is approved."

    return _done(request, pk, act)


@page("proposal_approve", "proposals/<int:pk>/approve/", "approve", kind="action")
def proposal_approve(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Agree to what somebody asked for."""

    def act() -> str:
        said = request.POST
        made = proposing.approve(
            person_of(request.user), pk, said.get("answer", ""), said.get("typed", "")
        )
        warn(request, made.row)
        return "Approved, and changed. Running workers follow within a second or two."

    return _done(request, pk, act)


@page("proposal_refuse", "proposals/<int:pk>/refuse/", kind="action")
def proposal_refuse(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Refuse what somebody asked for, or take one's own request back."""
    if refusal := lacking(request, MAY, "approve"):
        return refusal

    def act() -> str:
        proposing.refuse(person_of(request.user), pk, request.POST.get("answer", ""))
        return "Refused. Nothing was changed."

    return _done(request, pk, act)


def find(pk: int) -> Proposal:
    """The proposed change of this number, or a 404."""
    found = Proposal.objects.filter(pk=pk).select_related("channel__credential", "credential")
    row = found.first()
    if row is None:
        raise Http404(f"There is no proposed change {pk}.")
    return row


def _done(request: HttpRequest, pk: int, act: Callable[[], str]) -> HttpResponseBase:
    find(pk)
    try:
        messages.success(request, act())
    except (NotAllowedError, InvalidValueError) as error:
        messages.error(request, str(error))
    return HttpResponseRedirect(reverse("admin:proposal", args=[pk]))


def _context(request: HttpRequest, row: Proposal) -> dict[str, Any]:
    person, now = person_of(request.user), database_now()
    lines, draft = lines_of(row), row.stage == Stage.DRAFT
    then = _as_proposed(row) if row.stage in {Stage.DRAFT, Stage.REQUESTED} else None
    gate = gate_of(row.row, lines) if draft else Gate(row.gate)
    return {
        "row": row,
        "lines": lines,
        "widening": [line for line in lines if line.why],
        "used": in_use(row.row),
        "gate": gate,
        "draft": draft,
        "moved": row.stage in {Stage.DRAFT, Stage.REQUESTED} and moved(row),
        "over": row.expires_at <= now,
        "own": person.asked_for(row),
        "waits": row.stage == Stage.REQUESTED and row.expires_at > now,
        "alone": gate == Gate.ALONE,
        "authority": _authority(row),
        "then": then,
        "schedule": schedule_of(then) if then and then.drawable else None,
        "may_edit": may(request, MAY),
        "may_approve": may(request, "approve"),
    }


def _authority(row: Proposal) -> Credential | None:
    """The credential that a channel would use instead: with it comes everything that it may do."""
    name = row.after.get("credential") if row.channel and not row.is_new else None
    return Credential.objects.filter(name=name).first() if name else None


def _as_proposed(row: Proposal) -> Capability | None:
    """The channel as it would be, where its tries or its window would change. Never saved."""
    channel: Settings = row.row
    if not isinstance(channel, Channel) or not DRAWN & set(row.after):
        return None
    copy = Channel.objects.select_related("credential").get(pk=channel.pk)
    for name in DRAWN & set(row.after):
        setattr(copy, name, row.after[name])
    return capability(copy)
