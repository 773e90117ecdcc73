"""The app that holds what is true: runs, steps, messages, deliveries, attempts, evidence, trail."""

from django.apps import AppConfig
from django.contrib.postgres.indexes import OpClass
from django.db.models.expressions import OrderBy
from django.db.models.functions import Collate
from django.db.models.indexes import IndexExpression


class LedgersConfig(AppConfig):
    name = "ledgers"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # An index on an expression may name an operator class. What Django's own app for PostgreSQL
        # does besides, at every connection, is not needed.
        IndexExpression.register_wrappers(OrderBy, OpClass, Collate)
