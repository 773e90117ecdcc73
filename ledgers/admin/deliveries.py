"""The delivery ledger: messages, their deliveries, and what is queued of them."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from ledgers.admin.reading import ChannelFilter, OfDelivery, ReadOnlyAdmin, StatusFilter
from ledgers.admin.tables import ROWS_SHOWN, as_json, content, facts, link, listed, moment, status
from ledgers.admin.trail import change_of
from ledgers.finding import sought
from ledgers.models import Delivery, Message, OutboxItem
from ledgers.states import DeliveryStatus


class OfChannel(ChannelFilter):
    parameter_name = "channel__id__exact"


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = ("name", "channel_link", "step_link", "run_link", "created_at")
    list_select_related = ("channel", "step__run")
    list_filter = (OfChannel,)
    lookups = ("channel__id__exact",)
    search_fields = ("step__run__run_id__startswith",)
    search_help_text = "The beginning of a run's id."
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "name", "run_link", "step_link", "channel_link", "deliveries", "parts",
                    "not_before", "not_after", "created_at", "payload_hash",
                )
            },
        ),
        ("Content, as it was recorded", {"fields": ("payload_shown",)}),
        ("What the channel's adapter declared then", {"fields": ("contract_shown",)}),
    )  # fmt: skip
    readonly_fields = (
        "run_link", "step_link", "channel_link", "deliveries", "payload_shown", "contract_shown",
    )  # fmt: skip

    @admin.display(description="run")
    def run_link(self, message: Message) -> SafeString | str:
        return link(message.step.run)

    @admin.display(description="step")
    def step_link(self, message: Message) -> SafeString | str:
        return link(message.step)

    @admin.display(description="channel")
    def channel_link(self, message: Message) -> SafeString | str:
        return link(message.channel)

    def deliveries(self, message: Message) -> SafeString:
        return listed(Delivery, message.deliveries.count(), message__id__exact=message.pk)

    @admin.display(description="content")
    def payload_shown(self, message: Message) -> SafeString | str:
        return content(message.payload, "erased; its hash is kept")

    @admin.display(description="contract")
    def contract_shown(self, message: Message) -> SafeString | str:
        return as_json(message.contract)


BY_CHANNEL = "message__channel__id__exact"
# What no list shows, and what may be long.
CONTENTS = (
    "message__payload", "message__contract", "message__step__result", "message__step__error",
    "message__step__run__error", "message__channel__settings",
)  # fmt: skip


class DeliveryStatusFilter(StatusFilter):
    statuses = DeliveryStatus


class ThroughChannel(ChannelFilter):
    parameter_name = BY_CHANNEL


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display: tuple[str, ...] = (
        "short_id", "destination", "state", "channel_link", "run_link", "attempt_count", "rule",
    )  # fmt: skip
    list_filter: ClassVar[tuple[Any, ...]] = (DeliveryStatusFilter, ThroughChannel)
    list_select_related: ClassVar[tuple[str, ...]] = ("message__channel", "message__step__run")
    lookups: ClassVar[tuple[str, ...]] = (
        "status__exact",
        BY_CHANNEL,
        "message__id__exact",
        "message__step__run__id__exact",
    )
    search_fields = ("destination__startswith",)
    search_help_text = (
        "The beginning of a destination, or its domain (@acme.test); or the id of a delivery or of"
        " a run, the provider's id, a key, a recognizer (dlv…)."
    )
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "delivery_id", "meaning", "cause", "destination", "part", "generation",
                    "message_link", "run_link", "channel_link",
                )
            },
        ),
        ("What happened, in order", {"fields": ("history",)}),
        ("Attempts", {"fields": ("attempts",)}),
        ("Evidence", {"fields": ("evidence",)}),
        (
            "Identity, key and times",
            {
                "fields": (
                    "idempotency_key", "recognizer", "provider_message_id", "body_hash",
                    "key_first_used_at", "next_attempt_at", "created_at", "unknown_since",
                    "acknowledged_at", "withdrawn_at", "disputed_at", "finished_at", "decision",
                    "decided_at", "fence", "row_version",
                )
            },
        ),
    )  # fmt: skip
    readonly_fields = (
        "meaning", "message_link", "run_link", "channel_link", "history", "attempts", "evidence",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        rows = super().get_queryset(request).select_related(*self.list_select_related)
        return rows.defer(*CONTENTS)

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """The latest first; of one channel in the order of its messages, which an index serves."""
        return ("-message_id", "-pk") if BY_CHANNEL in request.GET else ("-pk",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Delivery], search_term: str
    ) -> tuple[QuerySet[Delivery], bool]:
        """Who pastes a name means the one that has it; all else begins a destination."""
        term = search_term.strip()
        return (queryset.filter(sought(term)) if term else queryset), False

    @admin.display(description="delivery", ordering="delivery_id")
    def short_id(self, delivery: Delivery) -> str:
        return str(delivery.delivery_id)[:8]

    @admin.display(description="by rule", ordering="cause")
    def rule(self, delivery: Delivery) -> str:
        return delivery.cause.partition(":")[0]

    @admin.display(description="status", ordering="status")
    def state(self, delivery: Delivery) -> SafeString:
        return status(delivery.status)

    @admin.display(description="status")
    def meaning(self, delivery: Delivery) -> SafeString:
        return status(delivery.status, delivery.get_status_display())

    @admin.display(description="message")
    def message_link(self, delivery: Delivery) -> SafeString | str:
        return link(delivery.message, delivery.message.name)

    @admin.display(description="run")
    def run_link(self, delivery: Delivery) -> SafeString | str:
        return link(delivery.message.step.run)

    @admin.display(description="channel")
    def channel_link(self, delivery: Delivery) -> SafeString | str:
        return link(delivery.message.channel)

    def history(self, delivery: Delivery) -> SafeString:
        return facts(("at", "what", "result", "why", "by"), history(delivery), "nothing yet")

    def attempts(self, delivery: Delivery) -> SafeString:
        return facts(
            ("attempt", "opened", "closed", "got to", "bytes", "outcome", "authority", "answer"),
            [
                (
                    link(a, f"attempt {a.number}"), a.opened_at, a.closed_at, a.phase,
                    a.bytes_written, a.outcome or "none", a.authority.get("credential"),
                    a.error or a.provider_message_id,
                )
                for a in delivery.attempts.all()[:ROWS_SHOWN]
            ],
            "none: nothing has left",
        )  # fmt: skip

    def evidence(self, delivery: Delivery) -> SafeString:
        return facts(
            ("taken", "method", "verdict", "searched", "why", "by"),
            [
                (link(e, moment(e.taken_at)), e.method, e.verdict, e.searched, e.why, e.seen_by)
                for e in delivery.evidence.order_by("pk")[:ROWS_SHOWN]
            ],
            "none beside the attempts' own answers",
        )


def history(delivery: Delivery) -> list[tuple[Any, ...]]:
    """Attempts, evidence and the trail of one delivery, in the order of time."""
    events = [
        (e.at, link(e, e.kind), change_of(e), e.rule, e.actor)
        for e in delivery.events.order_by("pk")[:ROWS_SHOWN]
    ]
    answers = [
        (a.closed_at, link(a), a.outcome, a.error or a.provider_message_id, a.worker)
        for a in delivery.attempts.exclude(closed_at=None)[:ROWS_SHOWN]
    ]
    findings = [
        (e.created_at, link(e, e.method), e.verdict, e.why, e.seen_by)
        for e in delivery.evidence.order_by("pk")[:ROWS_SHOWN]
    ]
    return sorted([*events, *answers, *findings], key=lambda entry: entry[0])


@admin.register(OutboxItem)
class OutboxItemAdmin(OfDelivery):
    list_display = ("__str__", "delivery_link", "destination", "channel_link", "due_at", "leased")
    list_select_related = ("delivery", "channel")
    ordering = ("due_at",)
    fields = ("delivery_link", "destination", "channel_link", "due_at", "leased")
    readonly_fields = ("delivery_link", "destination", "channel_link")

    @admin.display(description="channel")
    def channel_link(self, item: OutboxItem) -> SafeString | str:
        return link(item.channel)
