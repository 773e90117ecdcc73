"""What became of the last probe of each channel."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0009_receipts_go_along"),
        ("ledgers", "0017_probes"),
    ]

    operations = [
        migrations.CreateModel(
            name="Probe",
            fields=[
                (
                    "channel",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="ledgers.channel",
                    ),
                ),
                ("run_id", models.CharField(blank=True, max_length=200)),
                ("delivery_id", models.UUIDField(null=True)),
                ("recorded_at", models.DateTimeField(null=True)),
                ("looked_at", models.DateTimeField(null=True)),
                ("seen_at", models.DateTimeField(null=True)),
                ("unseen_since", models.DateTimeField(null=True)),
                ("said", models.CharField(blank=True, max_length=300)),
            ],
        ),
    ]
