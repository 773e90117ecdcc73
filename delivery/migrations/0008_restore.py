"""What a database that was restored is known by, and what it has forgotten."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0007_claimed_at"),
    ]

    operations = [
        migrations.AddField(
            model_name="worker",
            name="counted_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="worker",
            name="epoch",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="worker",
            name="mark",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
    ]
