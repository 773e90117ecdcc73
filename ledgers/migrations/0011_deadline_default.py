"""New channels start with the deadline that the slowest adapter declares; no row is changed."""

from django.core.validators import MinValueValidator
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("ledgers", "0010_console_searches"),)
    operations = (
        migrations.AlterField(
            "channel",
            "deadline_s",
            models.FloatField(default=20, validators=[MinValueValidator(0.05)]),
        ),
    )
