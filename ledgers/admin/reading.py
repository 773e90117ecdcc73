"""The base of every page of the ledgers: to look at, and nothing else."""

from typing import Any, ClassVar

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet, TextChoices
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.safestring import SafeString

from ledgers.admin.tables import link

COUNTED = 10_000  # rows


class NamedLookups(admin.ModelAdmin):
    """A list that may be filtered by `lookups` and by nothing else."""

    lookups: tuple[str, ...] = ()

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Only the named ones: a query string may otherwise ask for any column and any operator,
        and a broken regular expression or a NUL in it would be the database's error, a 500.
        """
        return lookup in self.lookups and "\x00" not in str(value)


class CappedPaginator(Paginator):
    """Counts no further than anybody pages: on a large ledger the rest costs more than a page."""

    @cached_property
    def count(self) -> int:
        """At most `COUNTED`, which then means that there are more."""
        rows: Any = self.object_list
        return int(rows.order_by().values("pk")[:COUNTED].count())

    @property
    def capped(self) -> bool:
        return self.count >= COUNTED


class ReadOnlyAdmin(NamedLookups):
    """Lists and pages without a form, in the one order that an index serves."""

    actions = None
    paginator = CappedPaginator
    sortable_by = ()
    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False
    list_per_page = 50
    ordering = ("-pk",)

    class Media:
        css = {"all": ["ledgers/admin.css"]}

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class StatusFilter(admin.SimpleListFilter):
    """By the status's own word; its meaning is on each row's page."""

    title = "status"
    parameter_name = "status__exact"
    statuses: type[TextChoices]

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [(value, value) for value in self.statuses.values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(status=self.value()) if self.value() else queryset


class OfDelivery(ReadOnlyAdmin):
    """Rows that belong to one delivery, and link to it."""

    list_select_related: ClassVar[tuple[str, ...]] = ("delivery",)

    @admin.display(description="delivery")
    def delivery_link(self, row: Any) -> SafeString | str:
        return link(row.delivery)

    @admin.display(description="destination")
    def destination(self, row: Any) -> str:
        return row.delivery.destination if row.delivery else ""
