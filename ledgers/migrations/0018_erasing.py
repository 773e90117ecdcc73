"""Results and answers can be erased as contents are, with an event, and seals still hold."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).with_suffix(".sql").read_text()


class Migration(migrations.Migration):
    dependencies = (("ledgers", "0017_probes"),)
    # What was erased does not come back: there is no way to undo this.
    operations = (migrations.RunSQL(SQL),)
