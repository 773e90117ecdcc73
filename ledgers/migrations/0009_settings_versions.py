"""Versions of channels and credentials, and their history in the trail."""

from pathlib import Path

from django.db import migrations, models

SQL = Path(__file__).with_suffix(".sql").read_text()
UNDONE = """
DROP TRIGGER changed ON ledgers_channel;
DROP TRIGGER changed ON ledgers_credential;
DROP FUNCTION ledgers_settings_changed;
"""
OF_SETTINGS = (
    "add_channel", "change_channel", "pause", "resume", "add_credential", "change_credential",
)  # fmt: skip


class Migration(migrations.Migration):
    dependencies = (("ledgers", "0008_erasing_is_noted"),)
    operations = (
        migrations.AddField(
            model_name="channel",
            name="row_version",
            field=models.PositiveIntegerField(default=1, editable=False),
        ),
        migrations.AddField(
            model_name="credential",
            name="row_version",
            field=models.PositiveIntegerField(default=1, editable=False),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                condition=models.Q(kind__in=OF_SETTINGS), fields=["id"], name="event_of_settings"
            ),
        ),
        migrations.RunSQL(SQL, UNDONE),
    )
