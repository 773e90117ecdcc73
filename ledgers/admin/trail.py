"""The trail: every move and decision."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.safestring import SafeString

from ledgers.admin.reading import OfDelivery
from ledgers.admin.tables import ROWS_SHOWN, as_json, content, facts, link, moment
from ledgers.models import Event


@admin.register(Event)
class EventAdmin(OfDelivery):
    list_display = ("at", "kind", "change", "delivery_link", "run_link", "rule", "actor")
    list_select_related = ("delivery", "run", "step")
    lookups = ("run__id__exact", "delivery__id__exact")
    fields = (
        "at", "kind", "change", "delivery_link", "run_link", "step_link", "attempt_link", "rule",
        "row_version", "actor", "detail_shown", "inputs_shown",
    )  # fmt: skip
    readonly_fields = (
        "change", "delivery_link", "run_link", "step_link", "attempt_link", "detail_shown",
        "inputs_shown",
    )  # fmt: skip

    def change(self, event: Event) -> str:
        return change_of(event)

    @admin.display(description="run")
    def run_link(self, event: Event) -> SafeString | str:
        return link(event.run)

    @admin.display(description="step")
    def step_link(self, event: Event) -> SafeString | str:
        return link(event.step)

    @admin.display(description="attempt")
    def attempt_link(self, event: Event) -> SafeString | str:
        return link(event.attempt)

    @admin.display(description="detail")
    def detail_shown(self, event: Event) -> SafeString | str:
        return as_json(event.detail)

    @admin.display(description="what the rule saw")
    def inputs_shown(self, event: Event) -> SafeString | str:
        return content(event.inputs, "nothing was decided")


def change_of(event: Event) -> str:
    """From which status to which; empty for what moved nothing."""
    if event.from_status == event.to_status:
        return ""
    return f"{event.from_status or '(new)'} → {event.to_status}"


def _words(detail: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in detail.items() if value)[:500]


def trail_of(events: QuerySet[Event]) -> SafeString:
    """A table of events, each linked."""
    return facts(
        ("at", "what", "step", "detail", "by"),
        [
            (link(e, moment(e.at)), e.kind, link(e.step), _words(e.detail), e.actor)
            for e in events[:ROWS_SHOWN]
        ],
        "nothing yet",
    )
