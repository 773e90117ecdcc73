"""Both ledgers, to look at. Nothing here can be added, changed or deleted, by anybody.

People act through named decisions, never by editing records.
"""

from django.contrib import admin

from ledgers.admin import attempts, deliveries, execution, trail

__all__ = ["attempts", "deliveries", "execution", "trail"]

admin.site.site_header = "Counterfoil"
admin.site.site_title = "Counterfoil"
admin.site.index_title = "Ledgers and settings"
