"""Who holds a step's lease, so that the death of a process on this host need not be waited for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("ledgers", "0004_console_indexes"),)
    operations = (
        migrations.AddField(
            model_name="step",
            name="holder",
            field=models.CharField(blank=True, db_default="", max_length=250),
        ),
    )
