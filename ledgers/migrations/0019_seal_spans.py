"""From which number to which the rows of a seal are: so the seal of a row is found at once.

Late rows make a span wide, and then some seals are looked at in vain. The columns are PostgreSQL's
own work; Django knows nothing of them.
"""

from django.db import migrations

KINDS = (("event", "events"), ("attempt", "attempts"), ("evidence", "evidence"))


def spanned(kind: str, column: str) -> str:
    # Without the condition none would be a span without ends: one that has everything.
    span = (
        f"CASE WHEN cardinality({column}) > 0"
        f" THEN int8range({column}[1], {column}[cardinality({column})], '[]') END"
    )
    return f"""
    ALTER TABLE ledgers_seal ADD COLUMN {kind}_span int8range GENERATED ALWAYS AS ({span}) STORED;
    CREATE INDEX seal_{kind}_span ON ledgers_seal USING gist ({kind}_span);
    """


class Migration(migrations.Migration):
    dependencies = (("ledgers", "0018_erasing"),)
    operations = (
        migrations.RemoveIndex("seal", "seal_at"),
        *(
            migrations.RunSQL(
                spanned(kind, column), f"ALTER TABLE ledgers_seal DROP COLUMN {kind}_span"
            )
            for kind, column in KINDS
        ),
    )
