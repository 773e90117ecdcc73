"""A decision of its own for what a restore has put in doubt."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0005_purged_rows"),
    ]

    operations = [
        migrations.AlterField(
            model_name="decision",
            name="kind",
            field=models.CharField(
                blank=True,
                choices=[
                    ("arrived", "it arrived"),
                    ("send_same_key", "send again, with the same key"),
                    ("send_after_absent", "send again, a complete search found nothing"),
                    ("send_otherwise", "send again, although it may have arrived"),
                    ("release", "release, it was not sent"),
                    ("try_again", "try again"),
                    ("leave", "leave undelivered"),
                    ("discard", "discard expired"),
                    ("look_again", "look again at a time"),
                    ("cancel", "cancel"),
                    ("approve_try", "approve the try"),
                    ("refuse_try", "refuse the try"),
                ],
                max_length=20,
            ),
        ),
    ]
