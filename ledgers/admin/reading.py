"""The base of every page of the ledgers: to look at, and nothing else."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR, SEARCH_VAR, ChangeList
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet, TextChoices
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.functional import cached_property
from django.utils.safestring import SafeString

from ledgers.admin.tables import link
from ledgers.models import Channel

COUNTED = 10_000  # rows


class UnderstoodList(ChangeList):
    """A list that shows nothing, and says why, where it is asked for what it does not understand.

    Django's own drops all filters then, and shows everything as if that were the answer.
    """

    problem = ""

    model_admin: "NamedLookups"

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str | None] | None = None
    ) -> QuerySet[Any]:
        if strange := sorted(set(request.GET) - self.model_admin.understood()):
            return self._nothing(request, f"there is no such filter: {strange[0][:40]}")
        if not request.GET.get(PAGE_VAR, "1").isdecimal():
            return self._nothing(request, "a page has a number")
        if not self.query and request.GET.get(SEARCH_VAR, "").strip():
            return self._nothing(request, "this text cannot be searched for")
        try:
            return super().get_queryset(request, exclude_parameters)
        except (IncorrectLookupParameters, DisallowedModelAdminLookup) as error:
            return self._nothing(request, str(error) or "a filter's value means nothing")

    def get_results(self, request: HttpRequest) -> None:
        try:
            super().get_results(request)
            is_there = self.multi_page or self.page_num == 1
        except IncorrectLookupParameters:
            is_there = False
        if not is_there:
            self.queryset = self._nothing(request, "there is no such page")
            self.page_num = 1
            super().get_results(request)
        if not self.multi_page and isinstance(self.paginator, CappedPaginator):
            # As often as for a long list, and never without a limit.
            self.result_list = self.paginator.page(1).object_list

    def _nothing(self, request: HttpRequest, problem: str) -> QuerySet[Any]:
        self.problem = problem
        self.filter_specs: list[Any] = []
        self.has_filters = self.has_active_filters = False
        self.clear_all_filters_qs = "?"
        messages.error(request, f"Not understood, so nothing matches: {problem}.")
        return self.root_queryset.none()


class NamedLookups(admin.ModelAdmin):
    """A list that may be filtered by `lookups` and by nothing else."""

    lookups: ClassVar[tuple[str, ...]] = ()

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Only the named ones: a query string may otherwise ask for any column and any operator,
        and a broken regular expression or a NUL in it would be the database's error, a 500.
        """
        return lookup in self.lookups and "\x00" not in str(value)

    def understood(self) -> set[str]:
        """The names that may stand in the list's query string."""
        names = {*self.lookups, PAGE_VAR}
        if self.sortable_by is None or self.sortable_by:
            names.add(ORDER_VAR)
        return names | {SEARCH_VAR} if self.search_fields else names

    def get_changelist(self, request: HttpRequest, **_: Any) -> type[ChangeList]:
        return UnderstoodList

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        if isinstance(response, TemplateResponse):
            listed = (response.context_data or {}).get("cl")
            if isinstance(listed, UnderstoodList) and listed.problem:
                response.status_code = 400
        return response


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

    def page(self, number: int | str) -> Page:
        """Find the ids of a page first: what is skipped before it is not joined with anything."""
        number = self.validate_number(number)
        rows: Any = self.object_list
        first = (number - 1) * self.per_page
        ids = list(rows.values_list("pk", flat=True)[first : first + self.per_page])
        return Page(rows.filter(pk__in=ids), number, self)


class ReadOnlyAdmin(NamedLookups):
    """Lists and pages without a form, in the one order that an index serves."""

    actions = None
    paginator = CappedPaginator
    sortable_by = ()
    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False
    list_per_page = 50
    list_max_show_all = 0
    ordering = ("-pk",)

    class Media:
        css = {"all": ["ledgers/admin.css"]}

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ChoiceFilter(admin.SimpleListFilter):
    """One of a few words; another one matches nothing, and says so."""

    def value(self) -> str | None:
        """The word that is asked for.

        Raises:
            IncorrectLookupParameters: there is no such word.
        """
        word: str | None = super().value()
        if word and word not in dict(self.lookup_choices):
            raise IncorrectLookupParameters(f"{self.title}: {word[:40]}")
        return word


class StatusFilter(ChoiceFilter):
    """By the status's own word; its meaning is on each row's page."""

    title = "status"
    parameter_name = "status__exact"
    statuses: type[TextChoices]

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [(value, value) for value in self.statuses.values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(status=self.value()) if self.value() else queryset


class ChannelFilter(ChoiceFilter):
    """By channel. Django's own is dropped without a word where there is only one channel."""

    title = "channel"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [(str(pk), slug) for pk, slug in Channel.objects.values_list("pk", "slug")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return (
            queryset.filter(**{str(self.parameter_name): self.value()})
            if self.value()
            else queryset
        )


class OfDelivery(ReadOnlyAdmin):
    """Rows that belong to one delivery, and link to it."""

    list_select_related: ClassVar[tuple[str, ...]] = ("delivery",)

    @admin.display(description="delivery")
    def delivery_link(self, row: Any) -> SafeString | str:
        return link(row.delivery)

    @admin.display(description="destination")
    def destination(self, row: Any) -> str:
        return row.delivery.destination if row.delivery else ""
