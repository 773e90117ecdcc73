"""The home page: is anything unsafe, is anything silent; how much went through comes last."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from reviews.pages.registry import Menu, page
from reviews.pages.shown import show


@page("overview", "", menu=Menu("Now", "Overview", 10))
def overview(request: HttpRequest) -> HttpResponseBase:
    return show(request, "console/overview.html", "Overview")
