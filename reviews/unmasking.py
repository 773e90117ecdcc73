"""Contents are masked until somebody who may see them asks; each look is in the trail."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from ledgers.models import Attempt, Delivery, Evidence, Message, Step
from ledgers.trail import log
from reviews.pages.registry import may
from reviews.refusals import actor

# Stock pages of these show contents, answers or results.
SHOWING = (Attempt, Evidence, Message, Step)
ASKED = "contents"


def unmasked(request: HttpRequest, delivery: Delivery) -> bool:
    """Whether contents are to be shown: asked for (`?contents=shown`) by somebody who may.

    Showing them is an event of the delivery.
    """
    if request.GET.get(ASKED) != "shown" or not may(request, "view_payload"):
        return False
    log("view_payload", actor(request), delivery_pk=delivery.pk, detail={"page": request.path})
    return True


def guarded(
    view: Callable[..., HttpResponseBase],
    refuse: Callable[[HttpRequest, str], HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """A stock page of contents takes the permission to see them, and leaves an event.

    Args:
        view: a bound view of a `ModelAdmin`, or anything else, which stays as it is.
        refuse: answers a request without the permission.
    """
    model = getattr(getattr(view, "__self__", None), "model", None)
    if model not in SHOWING or getattr(view, "__name__", "") not in {"change_view", "history_view"}:
        return view

    @wraps(view)
    def noted(request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not may(request, "view_payload"):
            return refuse(request, "view_payload")
        row = {"record": model.__name__.lower(), "id": object_id[:40]}
        log("view_payload", actor(request), detail=row)
        return view(request, object_id, *args, **kwargs)

    return noted
