"""Filters of the list of deliveries that know of boundaries, capabilities, decisions and people.

Each starts from something small (what is unknown, what is not delivered, what was decided), so that
it costs the same on a large ledger.
"""

from typing import Any

from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from ledgers.admin.reading import ChoiceFilter
from ledgers.models import Attempt, Channel, Delivery
from ledgers.states import DeliveryStatus
from reviews.capability import Capability, capability
from reviews.kinds import Stage
from reviews.plainly import BOUNDARIES
from reviews.records import Assignment, DecidedRow

Rows = QuerySet[Delivery]
Choices = list[tuple[str, str]]
PEOPLE_SHOWN = 30
SILENT = "silent"  # the address has a word for the boundary that nobody named
# Rules after which something is not delivered; `delivery.next_move` has them all.
CAUSES = ("refused", "exhausted", "expired", "withdrawn", "absent", "blocked", "earlier-part",
          "held", "too-early", "left")  # fmt: skip
CAPABILITIES = {
    "key": "a key is honoured",
    "look-up": "can be looked up",
    "neither": "neither",
}


class Boundary(ChoiceFilter):
    """Where an unknown delivery was lost, by its last attempt."""

    title = "unknown because"
    parameter_name = "boundary"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [(key or SILENT, words) for key, words in BOUNDARIES.items()]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        if not (key := self.value()):
            return queryset
        last = Attempt.objects.filter(delivery=OuterRef("pk")).order_by("-number")
        unknown = queryset.filter(status=DeliveryStatus.UNKNOWN).alias(
            outcome=Subquery(last.values("outcome")[:1]), phase=Subquery(last.values("phase")[:1])
        )
        return unknown.alias(boundary=_BOUNDARY).filter(boundary="" if key == SILENT else key)


# As `plainly.boundary_key` names them.
_BOUNDARY = Case(
    When(outcome__in=("mismatch", "in_flight"), then=F("outcome")),
    When(outcome="", then=Value("lost")),
    When(outcome__isnull=True, rewound_at__isnull=False, then=Value("restored")),
    default=Coalesce(F("phase"), Value("")),
)


class Cause(ChoiceFilter):
    """By the rule that left it where it is, of what is not delivered."""

    title = "cause"
    parameter_name = "cause"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [(rule, rule) for rule in CAUSES]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        if not (rule := self.value()):
            return queryset
        said = Q(cause=rule) | Q(cause__startswith=f"{rule}:")
        return queryset.exclude(status=DeliveryStatus.DELIVERED).filter(said)


class ByCapability(ChoiceFilter):
    """By what the provider behind the channel is able to do, as its adapter declares it now."""

    title = "provider"
    parameter_name = "capability"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return list(CAPABILITIES.items())

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        if not (wanted := self.value()):
            return queryset
        ways = map(capability, Channel.objects.select_related("credential"))
        able = [way.channel.pk for way in ways if wanted in _abilities(way)]
        return queryset.filter(message__channel__in=able)


def _abilities(way: Capability) -> set[str]:
    declared = way.declared
    can = {
        "key": declared is not None and declared.key is not None and declared.window.seconds > 0,
        "look-up": declared is not None and declared.can_look_up,
    }
    return {name for name, able in can.items() if able} or {"neither"}


class Generation(ChoiceFilter):
    """What was sent again although it may have arrived."""

    title = "generation"
    parameter_name = "generation"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [("later", "2 and later")]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        return queryset.filter(generation__gt=1) if self.value() else queryset


class Touched(ChoiceFilter):
    """What a person's decision was carried out on."""

    title = "decided by a person"
    parameter_name = "touched"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [("yes", "yes")]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        if not self.value():
            return queryset
        done = DecidedRow.objects.filter(decision__stage__in=(Stage.EXECUTED, Stage.UNDONE))
        return queryset.filter(pk__in=done.values("delivery"))


class TakenBy(ChoiceFilter):
    """Whose it is to look after."""

    title = "taken by"
    parameter_name = "taken"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        names = Assignment.objects.order_by("person").values_list("person", flat=True).distinct()
        return [("-", "nobody, and unknown"), *((n, n) for n in names[:PEOPLE_SHOWN])]

    def value(self) -> str | None:
        """Any name may be asked for: who has left is not among the first names any more."""
        word: str | None = self.used_parameters.get(self.parameter_name)
        return word

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        if not (name := self.value()):
            return queryset
        if name == "-":
            return queryset.filter(status=DeliveryStatus.UNKNOWN, assignment=None)
        return queryset.filter(assignment__person=name)


FILTERS = (Boundary, Cause, ByCapability, Generation, Touched, TakenBy)
