"""A decision on its way: looked at, confirmed, approved or refused, taken back."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

from ledgers.clock import database_now
from ledgers.errors import InvalidValueError
from reviews import decisions, gates, wishes
from reviews.agreeing import typing_refused
from reviews.errors import NotAllowedError
from reviews.judged import Refusal
from reviews.kinds import NEEDS, Gate, Kind, Stage
from reviews.pages.registry import PAGES, may, page
from reviews.pages.shown import fragment, show
from reviews.people import person_of
from reviews.preview import Preview, preview
from reviews.records import Decision
from reviews.refusals import note_refusal
from reviews.refusing import refuse_if, refuse_unless
from reviews.wishes import Wish, check

ANY = ("decide", "triage", "approve")
TEXTS = ("reason", "ticket", "note", "link")


@page("decision", "decisions/<int:pk>/")
def decision(request: HttpRequest, pk: int) -> HttpResponseBase:
    """A selection with what a decision would do, or what became of the decision."""
    return _shown(request, find(pk))


@page("decision_live", "decisions/<int:pk>/live/", kind="fragment")
def decision_live(request: HttpRequest, pk: int) -> HttpResponseBase:
    """What becomes of it, and how long it may still be taken back."""
    return fragment(request, "console/decision_live.html", _context(request, find(pk)))


@page("decision_fill", "decisions/<int:pk>/fill/", kind="action")
def decision_fill(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Say what is to be decided about a selection, and look at what it would mean."""

    def act() -> str:
        wish = wish_of(request)
        check(wish)
        decisions.fill(person_of(request.user), wish, pk)
        return ""

    return _done(request, pk, act)


@page("decision_confirm", "decisions/<int:pk>/confirm/", kind="action")
def decision_confirm(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Ask for it; where one person may decide, it is carried out."""
    draft = find(pk)

    def act() -> str:
        typed = request.POST.get("typed", "")
        _refuse_unseen(draft, request.POST.get("wish", ""))
        _refuse_uncounted(draft, typed)
        wish = wishes.wish_of(draft, typed)
        made = decisions.request(person_of(request.user), wish, pk)
        if made.stage == Stage.EXECUTED:
            return f"Decided: {made.get_kind_display()}."
        return "Asked for. It is carried out once it is approved."

    return _done(request, pk, act)


@page("decision_approve", "decisions/<int:pk>/approve/", "approve", kind="action")
def decision_approve(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Agree to what somebody asked for."""

    def act() -> str:
        said = request.POST
        decisions.approve(
            person_of(request.user), pk, said.get("answer", ""), said.get("typed", "")
        )
        return "Approved, and carried out."

    return _done(request, pk, act)


@page("decision_refuse", "decisions/<int:pk>/refuse/", kind="action")
def decision_refuse(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Refuse what somebody asked for, or take one's own request back."""

    def act() -> str:
        decisions.refuse(person_of(request.user), pk, request.POST.get("answer", ""))
        return "Refused. Nothing was changed."

    return _done(request, pk, act)


@page("decision_undo", "decisions/<int:pk>/undo/", kind="action")
def decision_undo(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Take it back while nothing has left because of it."""

    def act() -> str:
        decisions.undo(person_of(request.user), pk)
        return "Taken back. Nothing was sent by it."

    return _done(request, pk, act)


def lacking(request: HttpRequest, *permissions: str) -> HttpResponseBase | None:
    """The answer to somebody who has none of these permissions, which the trail keeps."""
    if any(may(request, permission) for permission in permissions):
        return None
    name = request.resolver_match.url_name if request.resolver_match else None
    note_refusal(request, PAGES[name or "decision_confirm"])
    site: Any = admin.site
    refused: HttpResponseBase = site.refuse(request, permissions[0])
    return refused


def wish_of(request: HttpRequest) -> Wish:
    """What a form asks for.

    Raises:
        InvalidInputError: it names no decision.
    """
    said = {name: request.POST.get(name, "").strip() for name in (*TEXTS, "kind")}
    return Wish(
        wishes.kind_named(said["kind"]),
        reason=said["reason"],
        ticket=said["ticket"],
        note=said["note"],
        link=said["link"],
    )


def _refuse_unseen(draft: Decision, shown: str) -> None:
    """A page that was left open shows what was written down then: another tab may have written."""
    said = "what it says was changed since this page was shown"
    refuse_unless(
        draft.stage != Stage.DRAFT or shown == wishes.digest(draft),
        Refusal(said, "a look at what it says now, and the button below it"),
    )


def _refuse_uncounted(draft: Decision, typed: str) -> None:
    """A button is about as many as its page happens to hold: who presses it says how many.

    Who decides by a command or in Python names each of them instead.
    """
    count = draft.rows.count()
    if draft.stage == Stage.DRAFT and count > 1:
        refuse_if(typing_refused(str(count), typed))


def to_decision(pk: int) -> str:
    return reverse("admin:decision", args=[pk])


def find(pk: int) -> Decision:
    found = Decision.objects.filter(pk=pk).first()
    if found is None:
        raise Http404(f"There is no decision {pk}.")
    return found


def _done(request: HttpRequest, pk: int, act: Callable[[], str]) -> HttpResponseBase:
    if refusal := lacking(request, *ANY):
        return refusal
    find(pk)
    try:
        if said := act():
            messages.success(request, said)
    except (NotAllowedError, InvalidValueError) as error:
        messages.error(request, str(error))
    return HttpResponseRedirect(to_decision(pk))


def _shown(request: HttpRequest, row: Decision) -> HttpResponseBase:
    what = row.get_kind_display()
    title = f"Decision {row.pk}: {what}"
    if row.stage == Stage.DRAFT:
        title = f"Confirm: {what}" if what else "Decide about a selection"
    return show(request, "console/decision.html", title, _context(request, row))


def _context(request: HttpRequest, row: Decision) -> dict[str, Any]:
    person, now = person_of(request.user), database_now()
    seen: Preview = preview(row, person)
    waits = row.stage == Stage.REQUESTED and row.expires_at > now
    return {
        "row": row,
        "wish": wishes.digest(row),
        "seen": seen,
        "now": now,
        "draft": row.stage == Stage.DRAFT,
        "over": row.expires_at <= now,
        "own": person.asked_for(row),
        "waits": waits,
        "moving": waits or _is_moving(row, seen),
        "may_triage": may(request, "triage"),
        "undo_s": _left(row, now) if may(request, "decide") or may(request, "approve") else 0,
        "needs": NEEDS[Kind(row.kind)] if row.kind else None,
        "alone": row.gate == Gate.ALONE,
        "may_approve": may(request, "approve"),
        "cap": gates.CAP,
    }


def _is_moving(row: Decision, seen: Preview) -> bool:
    """Whether something still becomes of what was sent by it."""
    if row.stage != Stage.EXECUTED or not NEEDS[Kind(row.kind)].sends:
        return False
    sent = [line.decided.made or line.row for line in seen.lines]
    return any(one.status in {"pending", "submitting"} for one in sent)


def _left(row: Decision, now: datetime) -> int:
    """Whole seconds for which it may still be taken back."""
    if row.stage != Stage.EXECUTED or row.undo_until is None:
        return 0
    return max(0, int((row.undo_until - now).total_seconds()))
