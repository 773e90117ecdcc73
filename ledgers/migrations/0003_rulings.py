"""What a person decided may be taken back for a while, and a search may be asked for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("ledgers", "0002_guards"),)
    operations = (
        migrations.AddField(
            model_name="delivery",
            name="undo_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="delivery",
            name="look_again_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    )
