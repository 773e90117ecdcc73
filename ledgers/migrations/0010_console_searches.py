"""Indexes for what the console is asked on a large ledger, built while everything goes on.

If it is interrupted, an index of its may be left invalid: `DROP INDEX` it, and migrate again.
"""

from django.contrib.postgres.indexes import OpClass
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

from ledgers.domain import Domain


class Migration(migrations.Migration):
    # An index cannot be built concurrently inside a transaction.
    atomic = False

    dependencies = (("ledgers", "0009_settings_versions"),)
    operations = (
        # On a large table this takes longer than any statement of a worker or of a page may.
        migrations.RunSQL("SET statement_timeout = 0", "RESET statement_timeout"),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                OpClass(Domain("destination"), name="text_pattern_ops"),
                name="delivery_domain",
                condition=models.Q(destination__domain__isnull=False),
            ),
        ),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                fields=["status", "id"],
                name="delivery_by_status",
                condition=~models.Q(status="delivered"),
            ),
        ),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                fields=["id"],
                name="delivery_later_generation",
                condition=models.Q(generation__gt=1),
            ),
        ),
        AddIndexConcurrently(
            "event",
            models.Index(
                fields=["at"],
                name="event_ends",
                include=("to_status",),
                condition=models.Q(
                    to_status__in=("delivered", "unknown", "failed", "expired", "cancelled")
                )
                & ~models.Q(from_status=models.F("to_status")),
            ),
        ),
        AddIndexConcurrently(
            "event",
            models.Index(
                fields=["actor", "id"],
                name="event_by_person",
                condition=~models.Q(actor__contains=":") & ~models.Q(actor="agent"),
            ),
        ),
        AddIndexConcurrently(
            "event",
            models.Index(
                fields=["kind", "id"],
                name="event_by_kind",
                condition=~models.Q(kind__in=("record", "begin", "accept")),
            ),
        ),
        migrations.RunSQL("RESET statement_timeout", "SET statement_timeout = 0"),
    )
