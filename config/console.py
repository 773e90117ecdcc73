"""Makes the console's own site the one that every app registers its pages on."""

from django.contrib.admin.apps import AdminConfig


class ConsoleConfig(AdminConfig):
    default_site = "reviews.site.ConsoleSite"
