"""Channels, credentials and workers, to look at.

django-q2's own pages are taken away: they offer to delete and resubmit tasks, which decide nothing
about a delivery and would look as if they did.
"""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django_q.models import Failure, OrmQ, Schedule, Success

from delivery.models import Worker
from delivery.silence import SILENT_S
from ledgers.admin.reading import ChoiceFilter, ReadOnlyAdmin
from ledgers.admin.tables import link, listed
from ledgers.clock import database_now
from ledgers.models import Channel, Credential, Delivery

for model in (Failure, OrmQ, Schedule, Success):
    if admin.site.is_registered(model):
        admin.site.unregister(model)


# Changes are made on the console's own pages, where those that take two people wait for the second
# one (`reviews.proposing`); a form here would go around that. Neither is ever removed: the trail
# and what was proposed name it.
@admin.register(Channel)
class ChannelAdmin(ReadOnlyAdmin):
    list_display = ("slug", "adapter", "credential_link", "going", "deliveries")
    list_select_related = ("credential",)
    ordering = ("slug",)

    @admin.display(description="credential")
    def credential_link(self, channel: Channel) -> SafeString | str:
        return link(channel.credential)

    @admin.display(description="going", boolean=True)
    def going(self, channel: Channel) -> bool:
        return channel.paused_at is None

    def deliveries(self, channel: Channel) -> SafeString:
        return listed(Delivery, "its deliveries", message__channel__id__exact=channel.pk)


@admin.register(Credential)
class CredentialAdmin(ReadOnlyAdmin):
    list_display = ("name", "identity", "secret_ref", "fingerprint", "verified_at")
    ordering = ("name",)


class Alive(ChoiceFilter):
    """By its last sign of life."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("alive", "alive")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Worker]) -> QuerySet[Worker]:
        if not self.value():
            return queryset
        last = database_now() - timedelta(seconds=SILENT_S)
        return queryset.filter(stopped_at=None, beat_at__gte=last)


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    list_display = ("name", "mode", "beat_at", "stopped_at", "clock_offset", "claimed", "settled")
    list_filter = (Alive,)
    lookups = (Alive.parameter_name,)
    ordering = ("-beat_at",)

    @admin.display(description="clock offset")
    def clock_offset(self, worker: Worker) -> str:
        return f"{worker.clock_offset_s:.2f} s"
