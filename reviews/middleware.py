"""What holds for every request: a session that ended while polling, and a search without end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from psycopg.errors import QueryCanceled

Handler = Callable[[HttpRequest], HttpResponse]
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")


class ExpiredSessionMiddleware:
    """A fragment that is answered with the sign-in page would be swapped into the middle of a page.

    So the browser is told to go there as a whole, and to come back to the page that it was on.
    """

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        htmx = getattr(request, "htmx", None)
        login = reverse("admin:login")
        target = urlsplit(response.headers.get("Location", "")).path
        if not htmx or response.status_code != 302 or target != login:
            return response
        back = htmx.current_url_abs_path or reverse("admin:index")
        answer = HttpResponse(status=204)
        answer.headers["HX-Redirect"] = f"{login}?{urlencode({'next': back})}"
        return answer


class PatienceMiddleware:
    """No statement of a request lasts longer than a person waits."""

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with _patience(settings.COUNTERFOIL_PATIENCE_S):
            return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error.__cause__, QueryCanceled):
            return None
        context = {"title": "Too broad", "changing": request.method in UNSAFE}
        return render(request, "console/too_broad.html", context, status=503)


@contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """The limit belongs to the session, and workers may share the process: it is taken back."""
    _set_limit(f"{int(seconds * 1000)}ms")
    try:
        yield
    finally:
        try:
            _set_limit(f"{settings.COUNTERFOIL_STATEMENT_TIMEOUT_S}s")
        except DatabaseError:
            # The connection cannot be used any more; the next request opens a new one.
            connection.close()


def _set_limit(limit: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, false)", [limit])
