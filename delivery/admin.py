"""Channels and credentials, the only rows that a person edits; and the workers, to look at.

django-q2's own pages are taken away: they offer to delete and resubmit tasks, which decide nothing
about a delivery and would look as if they did.
"""

from typing import Any

from django.contrib import admin, messages
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django_q.models import Failure, OrmQ, Schedule, Success

from delivery.channels.registry import ADAPTERS
from delivery.channels.secrets import fingerprint, read_secret
from delivery.errors import SecretError
from delivery.forms import ChannelForm, CredentialForm
from delivery.importing import unimportable
from delivery.models import Worker
from ledgers import outbox
from ledgers.admin.reading import NamedLookups, ReadOnlyAdmin
from ledgers.admin.tables import link, listed
from ledgers.models import Channel, Credential, Delivery
from ledgers.states import OPEN
from ledgers.trail import log

for model in (Failure, OrmQ, Schedule, Success):
    if admin.site.is_registered(model):
        admin.site.unregister(model)


class SettingsAdmin(NamedLookups):
    """Rows that a person edits; who changed what goes to the trail, never the values."""

    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False
    actions = None

    class Media:
        css = {"all": ["ledgers/admin.css"]}

    def save_model(
        self,
        request: HttpRequest,
        obj: Any,
        form: ModelForm,
        change: bool,  # noqa: FBT001  Django's
    ) -> None:
        super().save_model(request, obj, form, change)
        kind = f"{'change' if change else 'add'}_{self.opts.model_name}"
        detail = {"name": str(obj), "fields": sorted(form.changed_data)}
        log(kind, request.user.get_username(), detail=detail)


@admin.register(Channel)
class ChannelAdmin(SettingsAdmin):
    form = ChannelForm
    list_display = ("slug", "adapter", "credential_link", "going", "deliveries")
    list_select_related = ("credential",)
    fieldsets = (
        (None, {"fields": ("slug", "adapter", "credential", "settings", "known_settings")}),
        (
            "Times, in seconds",
            {
                "fields": (
                    "deadline_s", "margin_s", "lease_s", "retry_schedule", "max_attempts",
                    "look_up_schedule",
                )
            },
        ),
        ("Limits", {"fields": ("concurrency", "rate_per_s")}),
        (
            "Rules",
            {
                "fields": (
                    "resend_after_absent", "requires_approval", "scopes_required", "for_testing",
                )
            },
        ),
        ("Pause", {"fields": ("paused", "pause_reason", "paused_at")}),
    )  # fmt: skip
    readonly_fields = ("known_settings", "paused_at")

    def get_readonly_fields(
        self, request: HttpRequest, obj: Channel | None = None
    ) -> tuple[str, ...]:
        """The slug is part of identities: once a message went through it, it never changes."""
        used = obj is not None and obj.messages.exists()
        return (*self.readonly_fields, "slug") if used else self.readonly_fields

    def save_model(
        self,
        request: HttpRequest,
        obj: Channel,
        form: ModelForm,
        change: bool,  # noqa: FBT001  Django's
    ) -> None:
        super().save_model(request, obj, form, change)
        for complaint in unimportable(obj):
            text = f"Saved; but here {complaint}. A worker with another path may find it."
            messages.warning(request, text)
        # What the old settings held back is looked at again at once.
        owed = Delivery.objects.filter(message__channel=obj, status__in=OPEN)
        outbox.wake(owed.filter(outbox_item__isnull=False).values_list("pk", flat=True))

    @admin.display(description="credential")
    def credential_link(self, channel: Channel) -> SafeString | str:
        return link(channel.credential)

    @admin.display(description="going", boolean=True)
    def going(self, channel: Channel) -> bool:
        return channel.paused_at is None

    def deliveries(self, channel: Channel) -> SafeString:
        return listed(Delivery, "its deliveries", message__channel__id__exact=channel.pk)

    @admin.display(description="what an adapter's settings are")
    def known_settings(self, _: Channel) -> SafeString:
        rows = (
            (name, key, setting.right, setting.about)
            for name, adapter in ADAPTERS.items()
            for key, setting in adapter.known.items()
        )
        table = format_html_join("", "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", rows)
        head = "<th>adapter</th><th>setting</th><th>value</th><th>what it does</th>"
        return format_html(
            "<details><summary>show them</summary><table><thead><tr>{}</tr></thead>"
            "<tbody>{}</tbody></table></details>",
            SafeString(head),
            table,
        )


@admin.register(Credential)
class CredentialAdmin(SettingsAdmin):
    form = CredentialForm
    list_display = ("name", "identity", "secret_ref", "fingerprint", "verified_at")
    fields = (
        "name", "secret_ref", "readable", "identity", "scopes", "destination_rules", "fingerprint",
        "verified_at", "channels",
    )  # fmt: skip
    readonly_fields = ("readable", "fingerprint", "verified_at", "channels")

    def save_model(
        self,
        request: HttpRequest,
        obj: Any,
        form: ModelForm,
        change: bool,  # noqa: FBT001  Django's
    ) -> None:
        """Saving accepts whatever secret the reference leads to: its next use remembers it."""
        obj.fingerprint = ""
        super().save_model(request, obj, form, change)

    @admin.display(description="secret, read from here")
    def readable(self, credential: Credential) -> str:
        """Whether this process finds it; a worker's environment may differ. Never the secret."""
        try:
            secret = read_secret(credential.secret_ref)
        except SecretError as error:
            return f"not found: {error}"
        return f"found, fingerprint {fingerprint(secret)}" if secret else "none is needed"

    def channels(self, credential: Credential) -> SafeString | str:
        if not credential.pk:
            return ""
        return format_html_join(", ", "{}", ((link(c),) for c in credential.channels.all()))


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    list_display = ("name", "mode", "beat_at", "stopped_at", "clock_offset_s", "claimed", "settled")
    ordering = ("-beat_at",)
