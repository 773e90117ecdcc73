"""The first of all middleware: what asks whether all is well depends on nothing else being well.

A probe calls by an address, over plain HTTP and without a cookie: host names, HTTPS and sessions
are for people.
"""

from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase

from config.health import answers, metrics
from config.health.guard import guarded

Answer = Callable[[HttpRequest], HttpResponse]
ADDRESSES: Mapping[str, Answer] = {
    "/healthz": answers.healthz,
    "/readyz": answers.readyz,
    "/livez/delivery": guarded(answers.livez),
    "/metrics": guarded(metrics.metrics),
}


class HealthMiddleware:
    """Answers these addresses, with or without a slash at the end, and passes on all others."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        answer = ADDRESSES.get(request.path_info.rstrip("/"))
        if answer is None:
            return self._get_response(request)
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        response = answer(request)
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
