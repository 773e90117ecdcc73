"""Addresses of the admin's pages."""

from django.contrib import admin
from django.db.models import Model
from django.urls import reverse

from delivery.models import Worker
from ledgers.models import (
    Attempt,
    Delivery,
    Event,
    Evidence,
    Message,
    OutboxItem,
    Run,
    Step,
)

READ_ONLY: tuple[type[Model], ...] = (
    Attempt, Delivery, Event, Evidence, Message, OutboxItem, Run, Step, Worker,
)  # fmt: skip
REGISTERED = tuple(admin.site._registry)


def page(model: type[Model], name: str, *args: object) -> str:
    """The address of a model's page: changelist, add, change, delete, history."""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}", args=args)


def page_of(row: Model, name: str = "change") -> str:
    return page(type(row), name, row.pk)
