"""When the watch complains, per channel; and what it has to find quickly.

The indexes take a second or two on a million rows.
"""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ledgers", "0012_seals"),
    ]

    operations = [
        migrations.AddField(
            model_name="channel",
            name="expected_every_s",
            field=models.FloatField(
                db_default=0, default=0, validators=[django.core.validators.MinValueValidator(0)]
            ),
        ),
        migrations.AddField(
            model_name="channel",
            name="grace_s",
            field=models.FloatField(
                db_default=60, default=60, validators=[django.core.validators.MinValueValidator(1)]
            ),
        ),
        migrations.AddField(
            model_name="channel",
            name="period_s",
            field=models.FloatField(
                db_default=1800,
                default=1800,
                validators=[django.core.validators.MinValueValidator(10)],
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("decision", ""), ("status", "failed")),
                fields=["finished_at"],
                name="delivery_failed",
            ),
        ),
        migrations.AddIndex(
            model_name="step",
            index=models.Index(
                condition=models.Q(("announces", []), _negated=True),
                fields=["-id"],
                name="step_announces",
            ),
        ),
    ]
