"""What a database that was restored is known by, and what it has forgotten."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ledgers", "0013_watch"),
    ]

    operations = [
        migrations.AddField(
            model_name="delivery",
            name="rewound_from",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="installation",
            name="confirmed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="installation",
            name="doubt_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="installation",
            name="instance",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="installation",
            name="restore_point",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="installation",
            name="restored_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="installation",
            name="rewound_to",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="installation",
            name="unsure_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddConstraint(
            model_name="installation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("restored_at__isnull", True),
                    ("doubt_until__isnull", False),
                    ("held_at__isnull", False),
                    _connector="OR",
                ),
                name="installation_restored_is_held",
            ),
        ),
        migrations.AddConstraint(
            model_name="installation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("unsure_at__isnull", True), ("held_at__isnull", False), _connector="OR"
                ),
                name="installation_unsure_is_held",
            ),
        ),
    ]
