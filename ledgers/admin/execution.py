"""The execution ledger: runs and their steps."""

from django.contrib import admin
from django.db.models import Count
from django.utils.safestring import SafeString

from ledgers.admin.reading import ReadOnlyAdmin, StatusFilter
from ledgers.admin.tables import ROWS_SHOWN, content, facts, link, listed, status
from ledgers.admin.trail import trail_of
from ledgers.models import Delivery, Event, Run, Step
from ledgers.states import RunStatus, StepStatus


class RunStatusFilter(StatusFilter):
    statuses = RunStatus


class StepStatusFilter(StatusFilter):
    statuses = StepStatus


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ("run_id", "agent", "state", "started_at", "finished_at")
    list_filter = (RunStatusFilter,)
    lookups = ("status__exact",)
    search_fields = ("run_id__startswith", "trigger_key__startswith")
    search_help_text = "The beginning of a run's id or of its trigger."
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "run_id", "agent", "meaning", "trigger_key", "duplicate_triggers",
                    "started_at", "finished_at", "error",
                )
            },
        ),
        ("Execution ledger: its steps", {"fields": ("steps",)}),
        ("Delivery ledger: what became of its messages", {"fields": ("account",)}),
        ("Trail of the run and its steps", {"fields": ("trail",)}),
    )  # fmt: skip
    readonly_fields = ("meaning", "steps", "account", "trail")

    @admin.display(description="status", ordering="status")
    def state(self, run: Run) -> SafeString:
        return status(run.status)

    @admin.display(description="status")
    def meaning(self, run: Run) -> SafeString:
        return status(run.status, run.get_status_display())

    def steps(self, run: Run) -> SafeString:
        rows = run.steps.annotate(owed=Count("messages"))[:ROWS_SHOWN]
        return facts(
            ("step", "status", "starts", "deaths", "started", "finished", "messages"),
            [
                (link(s), s.status, s.starts, s.deaths, s.started_at, s.finished_at, s.owed)
                for s in rows
            ],
            "no step was started",
        )

    def account(self, run: Run) -> SafeString:
        mine = Delivery.objects.filter(message__step__run=run)
        counts = mine.values_list("status").annotate(count=Count("pk")).order_by("status")
        rows = [
            (
                name,
                listed(Delivery, count, message__step__run__id__exact=run.pk, status__exact=name),
            )
            for name, count in counts
        ]
        total = sum(count for _, count in counts)
        every = listed(Delivery, total, message__step__run__id__exact=run.pk)
        return facts(
            ("status", "deliveries"), [*rows, ("all", every)] if rows else [], "no message"
        )

    def trail(self, run: Run) -> SafeString:
        return trail_of(run.events.filter(delivery=None).select_related("step").order_by("pk"))


@admin.register(Step)
class StepAdmin(ReadOnlyAdmin):
    list_display = ("step_id", "version", "run_link", "status", "starts", "deaths", "finished_at")
    list_filter = (StepStatusFilter,)
    list_select_related = ("run",)
    lookups = ("status__exact",)
    search_fields = ("run__run_id__startswith",)
    search_help_text = "The beginning of a run's id."
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "run_link", "step_id", "version", "status", "starts", "deaths", "lease_until",
                    "started_at", "finished_at", "announces", "input_hash", "result_hash",
                    "result_ref", "result_shown", "error",
                )
            },
        ),
        ("Messages it owes", {"fields": ("messages",)}),
        ("Trail of the step", {"fields": ("trail",)}),
    )  # fmt: skip
    readonly_fields = ("run_link", "result_shown", "messages", "trail")

    @admin.display(description="run", ordering="run")
    def run_link(self, step: Step) -> SafeString | str:
        return link(step.run)

    @admin.display(description="result")
    def result_shown(self, step: Step) -> SafeString | str:
        return content(step.result, "none")

    def messages(self, step: Step) -> SafeString:
        rows = step.messages.select_related("channel").annotate(count=Count("deliveries"))
        return facts(
            ("message", "channel", "recorded", "deliveries"),
            [
                (
                    link(m, m.name),
                    link(m.channel),
                    m.created_at,
                    listed(Delivery, m.count, message__id__exact=m.pk),
                )
                for m in rows[:ROWS_SHOWN]
            ],
            "it owes none",
        )

    def trail(self, step: Step) -> SafeString:
        events = Event.objects.filter(run=step.run_id, step=step, delivery=None)
        return trail_of(events.select_related("step").order_by("pk"))
