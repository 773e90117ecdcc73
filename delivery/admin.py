"""Channels, credentials and workers, to look at.

django-q2's own pages are taken away: they offer to delete and resubmit tasks, which decide nothing
about a delivery and would look as if they did.
"""

from django.contrib import admin
from django.utils.safestring import SafeString
from django_q.models import Failure, OrmQ, Schedule, Success

from delivery.models import Worker
from ledgers.admin.reading import ReadOnlyAdmin
from ledgers.admin.tables import link, listed
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


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    list_display = ("name", "mode", "beat_at", "stopped_at", "clock_offset_s", "claimed", "settled")
    ordering = ("-beat_at",)
