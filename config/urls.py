"""Addresses: the console is the whole site, but for where providers post their reports."""

from django.contrib import admin
from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

from delivery.receiving import receive

urlpatterns = [
    # Browsers ask for it on their own, also where no page has named the icon.
    path("favicon.ico", RedirectView.as_view(url=static("console/icon.svg"))),
    path("receipts/<slug:slug>/", receive, name="receive"),
    # As people type it: a redirect would lose the report, and Twilio signs what it called.
    path("receipts/<slug:slug>", receive),
    path("", admin.site.urls),
]
