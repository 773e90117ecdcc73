"""When a worker last took something."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0006_question_meter"),
    ]

    operations = [
        migrations.AddField(
            model_name="worker",
            name="claimed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
