"""Triggers, the fence's sequence, and the one row that names this installation."""

import secrets
from pathlib import Path

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

SQL = Path(__file__).with_suffix(".sql").read_text()


def name_installation(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Make the namespace in which every identity of this installation is derived."""
    installation = apps.get_model("ledgers", "Installation")
    installation.objects.using(editor.connection.alias).get_or_create(
        id=1, defaults={"recognizer_secret": secrets.token_bytes(32)}
    )


class Migration(migrations.Migration):
    dependencies = (("ledgers", "0001_initial"),)
    operations = (
        migrations.RunSQL(SQL, migrations.RunSQL.noop),
        migrations.RunPython(name_installation, migrations.RunPython.noop),
    )
