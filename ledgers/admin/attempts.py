"""What was put on the wire, and what was seen of it later."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from ledgers.admin.reading import ChoiceFilter, OfDelivery
from ledgers.admin.tables import as_json, content
from ledgers.models import Attempt, Evidence


class ColumnFilter(ChoiceFilter):
    """By one column of a few known words: asking for those that occur would read every row."""

    words: tuple[str, ...]

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [(word, word) for word in self.words]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not (word := self.value()):
            return queryset
        return queryset.filter(**{str(self.parameter_name): "" if word == "open" else word})


class OutcomeFilter(ColumnFilter):
    title, parameter_name = "outcome", "outcome__exact"
    words = (
        "open", "accepted", "refused", "deferred", "not_sent", "not_tried", "in_flight", "mismatch",
        "ambiguous",
    )  # fmt: skip


class VerdictFilter(ColumnFilter):
    title, parameter_name = "verdict", "verdict__exact"
    words = ("found", "found_many", "absent", "inconclusive")


class MethodFilter(ColumnFilter):
    title, parameter_name = "method", "method__exact"
    words = ("key_lookup", "id_lookup", "surface_scan", "receipt", "operator")


@admin.register(Attempt)
class AttemptAdmin(OfDelivery):
    list_display = (
        "__str__", "delivery_link", "destination", "phase", "opened_at", "closed_at", "worker",
    )  # fmt: skip
    list_filter = (OutcomeFilter,)
    lookups = ("outcome__exact",)
    search_fields = ("delivery__provider_message_id__exact", "delivery__recognizer__exact")
    search_help_text = "The provider's id, or a recognizer (dlv…)."
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
    list_filter = (VerdictFilter, MethodFilter)
    lookups = ("verdict__exact", "method__exact")
    fields = (
        "delivery_link", "destination", "method", "verdict", "why", "searched", "taken_at",
        "created_at", "covered_from", "pages", "provider_message_id", "response_shown", "seen_by",
    )  # fmt: skip
    readonly_fields = ("delivery_link", "destination", "response_shown")

    @admin.display(description="response")
    def response_shown(self, evidence: Evidence) -> SafeString | str:
        return content(evidence.response, "none")
