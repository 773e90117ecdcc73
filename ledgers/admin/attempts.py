"""What was put on the wire, and what was seen of it later."""

from django.contrib import admin
from django.utils.safestring import SafeString

from ledgers.admin.reading import OfDelivery
from ledgers.admin.tables import as_json, content
from ledgers.models import Attempt, Evidence


@admin.register(Attempt)
class AttemptAdmin(OfDelivery):
    list_display = (
        "__str__", "delivery_link", "destination", "phase", "opened_at", "closed_at", "worker",
    )  # fmt: skip
    list_filter = ("outcome",)
    lookups = ("outcome__exact", "outcome")
    search_fields = ("worker", "provider_message_id")
    fields = (
        "delivery_link", "destination", "number", "outcome", "opened_at", "closed_at", "late",
        "phase", "bytes_written", "permanent", "replayed", "retry_after_s", "provider_message_id",
        "response_shown", "error", "authority_shown", "idempotency_key", "key_scope", "body_hash",
        "worker", "host", "build", "fence", "lease_until", "deadline_s",
    )  # fmt: skip
    readonly_fields = ("delivery_link", "destination", "response_shown", "authority_shown")

    @admin.display(description="response")
    def response_shown(self, attempt: Attempt) -> SafeString | str:
        return content(attempt.response, "none")

    @admin.display(description="authority")
    def authority_shown(self, attempt: Attempt) -> SafeString | str:
        return as_json(attempt.authority)


@admin.register(Evidence)
class EvidenceAdmin(OfDelivery):
    list_display = ("__str__", "delivery_link", "destination", "taken_at", "why", "seen_by")
    list_filter = ("verdict", "method")
    lookups = ("verdict__exact", "verdict", "method__exact", "method")
    fields = (
        "delivery_link", "destination", "method", "verdict", "why", "searched", "taken_at",
        "created_at", "covered_from", "pages", "provider_message_id", "response_shown", "seen_by",
    )  # fmt: skip
    readonly_fields = ("delivery_link", "destination", "response_shown")

    @admin.display(description="response")
    def response_shown(self, evidence: Evidence) -> SafeString | str:
        return content(evidence.response, "none")
