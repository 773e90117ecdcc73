"""One delivery: what we know, what the destination shows, what a decision would do."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase

from delivery.reported import reported
from ledgers.clock import database_now
from ledgers.errors import InvalidValueError
from ledgers.models import Delivery
from reviews import decisions
from reviews.assigning import assign, takers
from reviews.dossier import Dossier, gather
from reviews.errors import NotAllowedError
from reviews.hints import needing_a_sighting
from reviews.incidents import ALL, places
from reviews.kinds import Kind, Stage
from reviews.links import to_delivery
from reviews.note import note
from reviews.pages.deciding import ANY, lacking, to_decision, wish_of
from reviews.pages.registry import may, page
from reviews.pages.shown import show
from reviews.people import person_of
from reviews.refusals import actor
from reviews.searching import look
from reviews.selecting import select
from reviews.unmasking import unmasked
from reviews.wishes import Wish, check

LOOK_IN = {"5": "5 min", "15": "15 min", "60": "1 h"}


@page("delivery", "delivery/<uuid:delivery_id>/")
def delivery(request: HttpRequest, delivery_id: UUID) -> HttpResponseBase:
    """Opening it sends nothing, asks nobody, and changes nothing."""
    return _shown(request, find(delivery_id))


@page("delivery_decide", "delivery/<uuid:delivery_id>/decide/", kind="action")
def decide(request: HttpRequest, delivery_id: UUID) -> HttpResponseBase:
    """Freeze what was seen, and go on to what it would mean."""
    if refusal := lacking(request, *ANY):
        return refusal
    row = find(delivery_id)
    try:
        wish = wish_of(request)
        check(wish)
        draft = select(person_of(request.user), {row.pk: _version(request, row)})
    except InvalidValueError as error:
        return _shown(request, row, error=str(error), status=422)
    decisions.fill(person_of(request.user), wish, draft.pk)
    return HttpResponseRedirect(to_decision(draft.pk))


@page("delivery_look", "delivery/<uuid:delivery_id>/look/", "triage", kind="action")
def look_now(request: HttpRequest, delivery_id: UUID) -> HttpResponseBase:
    """Search its destination now, and keep what is seen."""
    row = find(delivery_id)
    try:
        seen = look(row.pk, actor(request))
        messages.success(request, f"The destination was searched: {', '.join(seen)}.")
    except NotAllowedError as error:
        messages.warning(request, str(error))
    return _back(request, row)


@page("delivery_later", "delivery/<uuid:delivery_id>/later/", "triage", kind="action")
def look_later(request: HttpRequest, delivery_id: UUID) -> HttpResponseBase:
    """Let a worker search it in so many minutes."""
    row = find(delivery_id)
    minutes = request.POST.get("minutes", "")
    if minutes not in LOOK_IN:
        raise Http404("Nobody looks again then.")
    at = database_now() + timedelta(minutes=int(minutes))
    wish = Wish(Kind.LOOK_AGAIN, look_at=at)
    try:
        decisions.decide(person_of(request.user), wish, [row])
        messages.success(request, f"It is searched again in {LOOK_IN[minutes]}.")
    except NotAllowedError as error:
        messages.error(request, str(error))
    return _back(request, row)


@page("delivery_take", "delivery/<uuid:delivery_id>/take/", "triage", kind="action")
def take(request: HttpRequest, delivery_id: UUID) -> HttpResponseBase:
    """I take it."""
    row = find(delivery_id)
    assign([row.pk], actor(request))
    messages.success(request, "It is yours.")
    return _back(request, row)


@page("delivery_hand", "delivery/<uuid:delivery_id>/hand-over/", "triage", kind="action")
def hand_over(request: HttpRequest, delivery_id: UUID) -> HttpResponseBase:
    """Somebody else takes it."""
    row = find(delivery_id)
    person = request.POST.get("person", "")
    if person in takers():
        assign([row.pk], person, by=actor(request))
        messages.success(request, f"It is handed over to {person}.")
    else:
        messages.error(request, "Nobody of this name may take it. Choose somebody from the list.")
    return _back(request, row)


def find(delivery_id: UUID) -> Delivery:
    """The delivery of this id with all that its page names, or a 404."""
    names = ("message__channel__credential", "message__step__run", "assignment")
    row = Delivery.objects.select_related(*names).filter(delivery_id=delivery_id).first()
    if row is None:
        raise Http404(f"There is no delivery {delivery_id}.")
    return row


def _shown(
    request: HttpRequest, row: Delivery, *, error: str = "", status: int = 200
) -> HttpResponseBase:
    one = gather(row, person_of(request.user))
    offered = [option for option in one.options if option.open]
    context: dict[str, Any] = {
        "one": one,
        "row": row,
        "reported": reported(row),
        "open": offered,
        "sightings": needing_a_sighting(option.kind for option in offered),
        "shut": [option for option in one.options if not option.open],
        "shown": unmasked(request, row),
        "may_see": may(request, "view_payload"),
        "may_triage": may(request, "triage"),
        "assigned": getattr(row, "assignment", None),
        "takers": _others(request) if one.undecided else [],
        "next": _next(row),
        "look_in": LOOK_IN.items(),
        "note": note(one, request.build_absolute_uri(to_delivery(row))),
        "waiting": _waiting(one),
        "given": request.POST,
        "error": error,
    }
    title = f"Delivery {str(row.delivery_id)[:8]}"
    return show(request, "console/delivery.html", title, context, status=status)


def _others(request: HttpRequest) -> list[str]:
    return [name for name in takers() if name != actor(request)]


def _next(row: Delivery) -> Delivery | None:
    """The most urgent unknown delivery but this one, so that nobody goes back for each."""
    first = [place.id for place in places(ALL, limit=2) if place.id != row.pk]
    return Delivery.objects.filter(pk__in=first[:1]).first()


def _waiting(one: Dossier) -> Any:
    """The decision about it that waits, or may still be taken back."""
    for decided in one.decisions:
        decision = decided.decision
        undoable = decision.undo_until is not None and decision.undo_until > one.now
        if decision.stage == Stage.REQUESTED and decision.expires_at > one.now:
            return decision
        if decision.stage == Stage.EXECUTED and undoable:
            return decision
    return None


def _version(request: HttpRequest, row: Delivery) -> int:
    """The version that the form was about."""
    said = request.POST.get("version", "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else row.row_version


def _back(request: HttpRequest, row: Delivery) -> HttpResponseBase:
    if getattr(request, "htmx", None):
        return HttpResponse(status=204, headers={"HX-Refresh": "true"})
    return HttpResponseRedirect(to_delivery(row))
