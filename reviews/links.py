"""Where a row has its page. `admin:delivery` and `admin:run` are pages of the console."""

from django.urls import reverse

from ledgers.models import Delivery, Run


def to_delivery(row: Delivery) -> str:
    return reverse("admin:delivery", args=[row.delivery_id])


def to_run(row: Run) -> str:
    return reverse("admin:run", args=[row.pk])
