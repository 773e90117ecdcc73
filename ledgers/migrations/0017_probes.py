"""Where the probes of a channel go, and how often."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ledgers", "0016_rewound_index"),
    ]

    operations = [
        migrations.AddField(
            model_name="channel",
            name="probe_every_s",
            field=models.FloatField(
                db_default=3600,
                default=3600,
                validators=[django.core.validators.MinValueValidator(60)],
            ),
        ),
        migrations.AddField(
            model_name="channel",
            name="probe_to",
            field=models.CharField(blank=True, db_default="", default="", max_length=1000),
        ),
    ]
