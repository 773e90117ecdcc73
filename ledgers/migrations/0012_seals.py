"""Seals over the trail, closed attempts and evidence, and what waits for one.

What is there already waits for its first seal: on a large ledger that is written once, while
nothing else writes (about 2 s for a million rows). Seals are not taken back by going back.
"""

from pathlib import Path

import django.contrib.postgres.fields
from django.db import migrations, models

SQL = Path(__file__).with_suffix(".sql").read_text()
UNDONE = """
DROP TRIGGER waits_for_seal ON ledgers_event;
DROP TRIGGER waits_for_seal ON ledgers_evidence;
DROP TRIGGER closed_waits_for_seal ON ledgers_attempt;
DROP FUNCTION ledgers_wait_for_seal;
DROP FUNCTION ledgers_closed_waits_for_seal;
DROP FUNCTION ledgers_leaves;
DROP FUNCTION ledgers_texts;
DROP FUNCTION ledgers_answer_sha256;
"""
NUMBERS = models.BigIntegerField()


class Migration(migrations.Migration):
    dependencies = (("ledgers", "0011_deadline_default"),)
    operations = (
        migrations.RunSQL("SET LOCAL statement_timeout = 0", migrations.RunSQL.noop),
        migrations.CreateModel(
            name="Seal",
            fields=[
                ("number", models.BigIntegerField(primary_key=True, serialize=False)),
                ("sealed_at", models.DateTimeField()),
                ("events", django.contrib.postgres.fields.ArrayField(NUMBERS, size=None)),
                ("attempts", django.contrib.postgres.fields.ArrayField(NUMBERS, size=None)),
                ("evidence", django.contrib.postgres.fields.ArrayField(NUMBERS, size=None)),
                ("leaves", models.BinaryField()),
                ("root", models.BinaryField(max_length=32)),
                ("previous", models.BinaryField(max_length=32)),
                ("hash", models.BinaryField(max_length=32)),
            ],
            options={
                "ordering": ("number",),
                "indexes": [models.Index(fields=["sealed_at"], name="seal_at")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("number__gte", 1)), name="seal_counts_from_one"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Unsealed",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "kind", "row_id", blank=True, editable=False, primary_key=True,
                        serialize=False,
                    ),
                ),
                ("kind", models.CharField(max_length=8)),
                ("row_id", models.BigIntegerField()),
            ],
        ),
        migrations.RunSQL(SQL, UNDONE),
    )  # fmt: skip
