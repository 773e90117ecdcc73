"""Purging by receipt: what may go, what stays of it, and that nothing else is deleted."""

from pathlib import Path
from typing import Any

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from ledgers.states import DeliveryStatus, RunStatus

SQL = Path(__file__).with_suffix(".sql").read_text()
ID = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


def numbers() -> Any:
    return django.contrib.postgres.fields.ArrayField(models.BigIntegerField(), size=None)


def loose(to: str) -> Any:
    """A reference without a constraint: `ledgers.models.trail` says why."""
    return models.ForeignKey(
        to, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+",
        db_index=False, db_constraint=False,
    )  # fmt: skip


class Migration(migrations.Migration):
    dependencies = (("ledgers", "0014_restore"),)
    operations = (
        migrations.AlterField("event", "attempt", loose("ledgers.attempt")),
        migrations.AlterField("event", "step", loose("ledgers.step")),
        migrations.CreateModel(
            name="Purge",
            fields=[
                ("id", ID),
                ("at", models.DateTimeField()),
                ("actor", models.CharField(max_length=100)),
                ("reason", models.TextField()),
                ("policy_s", models.FloatField()),
                ("runs", numbers()),
                ("events", numbers()),
                ("attempts", numbers()),
                ("evidence", numbers()),
            ],
            options={"ordering": ("id",)},
        ),
        migrations.CreateModel(
            name="RunTombstone",
            fields=[
                ("id", ID),
                ("run_id", models.CharField(max_length=200, unique=True)),
                ("trigger_key", models.CharField(max_length=200, null=True, unique=True)),
                ("agent", models.CharField(max_length=200)),
                ("status", models.CharField(choices=RunStatus.choices, max_length=12)),
                ("finished_at", models.DateTimeField()),
                (
                    "purge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="tombstones",
                        to="ledgers.purge",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="DeliveryTombstone",
            fields=[
                ("delivery_id", models.UUIDField(primary_key=True, serialize=False)),
                ("status", models.CharField(choices=DeliveryStatus.choices, max_length=12)),
                ("finished_at", models.DateTimeField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deliveries",
                        to="ledgers.runtombstone",
                    ),
                ),
            ],
        ),
        # Once rows are purged, nothing brings them back: there is no way to undo this.
        migrations.RunSQL(SQL),
    )
