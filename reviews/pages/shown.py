"""How a page is shown: with the site's menu and banners around it, or as a fragment of one."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse


def show(
    request: HttpRequest,
    template: str,
    title: str,
    context: dict[str, Any] | None = None,
    *,
    status: int = 200,
) -> TemplateResponse:
    """A whole page. Its template extends `console/page.html`."""
    around = admin.site.each_context(request) | {"title": title}
    return TemplateResponse(request, template, around | (context or {}), status=status)


def fragment(request: HttpRequest, template: str, context: dict[str, Any]) -> TemplateResponse:
    """A part of a page, for htmx to swap in."""
    return TemplateResponse(request, template, context)
