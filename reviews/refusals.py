"""Refused actions are in the trail: who tried what, and which permission was missing."""

from django.http import HttpRequest

from ledgers.models.trail import MAX_ACTOR
from ledgers.trail import log
from reviews.pages.registry import Page


def actor(request: HttpRequest) -> str:
    """The person of a request, as the trail names them."""
    return request.user.get_username()[:MAX_ACTOR]


def note_refusal(request: HttpRequest, one: Page) -> None:
    """Reading a page that one may not read is common and harmless; trying to act is neither."""
    if one.kind in {"action", "export"}:
        detail = {"page": one.name, "path": request.path[:300], "permission": one.permission}
        log("refuse", actor(request), detail=detail)
