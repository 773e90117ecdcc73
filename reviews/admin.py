"""The list of deliveries as the console shows it: with who takes care of one, and more filters."""

from django.contrib import admin

from ledgers.admin.deliveries import DeliveryAdmin
from ledgers.models import Delivery
from reviews.listing import FILTERS

admin.site.unregister(Delivery)


@admin.register(Delivery)
class DeliveryList(DeliveryAdmin):
    """What the ledgers show by themselves, and what is known here besides."""

    list_display = (*DeliveryAdmin.list_display, "taken_by")
    list_filter = (*DeliveryAdmin.list_filter, *FILTERS)
    list_select_related = (*DeliveryAdmin.list_select_related, "assignment")
    lookups = (*DeliveryAdmin.lookups, *(one.parameter_name for one in FILTERS))

    @admin.display(description="taken by")
    def taken_by(self, delivery: Delivery) -> str:
        return delivery.assignment.person if hasattr(delivery, "assignment") else ""
