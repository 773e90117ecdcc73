"""The console: Django's admin with a menu of its own, our pages in it, and banners around them."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path
from django.utils.functional import SimpleLazyObject

from reviews.glance import Glance, glance
from reviews.menu import menu_of
from reviews.models import PERMISSIONS
from reviews.pages.registry import Page, load_pages
from reviews.refusals import note_refusal
from reviews.roles import having
from reviews.signing_in import SignInForm
from reviews.unmasking import guarded

V = TypeVar("V", bound=Callable[..., HttpResponseBase])


class ConsoleSite(admin.AdminSite):
    """Every app registers on it; our pages hang on `get_urls`, each behind its own permission."""

    site_header = "Counterfoil"
    site_title = "Counterfoil"
    index_title = "Overview"
    site_url = None
    login_form = SignInForm

    def get_urls(self) -> list[URLPattern | URLResolver]:
        own = [path(one.route, self._behind(one), name=one.name) for one in load_pages().values()]
        return [*own, *super().get_urls()]

    def admin_view(
        self,
        view: V,
        cacheable: bool = False,  # noqa: FBT001, FBT002  Django's
    ) -> V:
        """Stock pages pass here as well: those that show contents are guarded."""
        return super().admin_view(cast("V", guarded(view, self.refuse)), cacheable)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        around = super().each_context(request)
        around["environment"] = settings.COUNTERFOIL_ENVIRONMENT
        if self.has_permission(request):
            seen: Any = SimpleLazyObject(glance)  # only pages that show it pay for it
            around |= {"glance": seen, "menu": SimpleLazyObject(lambda: self._menu(request, seen))}
        return around

    def _menu(self, request: HttpRequest, seen: Glance) -> Any:
        return menu_of(request, load_pages().values(), self.get_app_list(request), seen)

    def refuse(self, request: HttpRequest, needed: str) -> TemplateResponse:
        """Say what a person lacks, and who could give it."""
        words = dict(PERMISSIONS).get(needed, needed)
        said = {"title": "Not allowed", "needed": words, "roles": having(needed)}
        context = self.each_context(request) | said
        return TemplateResponse(request, "console/refused.html", context, status=403)

    def _behind(self, one: Page) -> Callable[..., HttpResponseBase]:
        @wraps(one.view)
        def view(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
            if request.method not in one.methods:
                return HttpResponseNotAllowed(one.methods)
            if not request.user.has_perm(one.codename):
                note_refusal(request, one)
                return self.refuse(request, one.permission)
            return one.view(request, **kwargs)

        return self.admin_view(view)
