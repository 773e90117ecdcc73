"""The app that holds what is true: runs, steps, messages, deliveries, attempts, evidence, trail."""

from django.apps import AppConfig


class LedgersConfig(AppConfig):
    name = "ledgers"
    default_auto_field = "django.db.models.BigAutoField"
