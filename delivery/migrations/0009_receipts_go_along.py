"""The reports about a delivery are purged with it."""

from django.db import migrations

SQL = """
CREATE FUNCTION delivery_purge_receipts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM delivery_receipt WHERE delivery_id IN (SELECT id FROM gone);
    RETURN NULL;
END $$;
CREATE TRIGGER receipts_go_along AFTER DELETE ON ledgers_delivery
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION delivery_purge_receipts();
"""
UNDONE = """
DROP TRIGGER receipts_go_along ON ledgers_delivery;
DROP FUNCTION delivery_purge_receipts;
"""


class Migration(migrations.Migration):
    dependencies = (("delivery", "0008_restore"), ("ledgers", "0015_retention"))
    operations = (migrations.RunSQL(SQL, UNDONE),)
