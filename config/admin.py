"""People and groups: Django's own pages, with lists that cannot be asked for any column.

Without Django's two-column chooser and fields for dates: a screen reader finds no labels on them,
which breaks WCAG 2.0, level A.
"""

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User

from ledgers.admin.reading import NamedLookups

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class PersonAdmin(NamedLookups, UserAdmin):
    lookups = (
        "is_staff__exact", "is_superuser__exact", "is_active__exact", "groups__id__exact",
    )  # fmt: skip
    filter_horizontal = ()
    readonly_fields = ("last_login", "date_joined")


@admin.register(Group)
class GroupsAdmin(NamedLookups, GroupAdmin):
    filter_horizontal = ()
