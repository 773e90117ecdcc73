"""What a decision was about is purged with the deliveries; the decision itself stays.

Not while it waits for somebody: then the purge is refused.
"""

from django.db import migrations

SQL = """
CREATE FUNCTION reviews_purge_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM reviews_decidedrow w JOIN reviews_decision c ON c.id = w.decision_id
        WHERE c.stage = 'requested' AND c.expires_at > clock_timestamp()
          AND w.delivery_id IN (SELECT id FROM gone)
    ) THEN
        RAISE EXCEPTION 'a decision about it waits for approval'
            USING ERRCODE = 'restrict_violation';
    END IF;
    DELETE FROM reviews_assignment WHERE delivery_id IN (SELECT id FROM gone);
    DELETE FROM reviews_decidedrow WHERE delivery_id IN (SELECT id FROM gone);
    RETURN NULL;
END $$;
CREATE TRIGGER decided_rows_go_along AFTER DELETE ON ledgers_delivery
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION reviews_purge_rows();

-- A row of a decision may go after its delivery went, and never before.
DROP TRIGGER listed_before_asked ON reviews_decidedrow;
CREATE TRIGGER listed_before_asked BEFORE INSERT ON reviews_decidedrow
    FOR EACH ROW EXECUTE FUNCTION reviews_refuse_unless_draft();
CREATE FUNCTION reviews_refuse_unless_purged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM ledgers_delivery d WHERE d.id = OLD.delivery_id) AND EXISTS (
        SELECT FROM reviews_decision c WHERE c.id = OLD.decision_id AND c.stage <> 'draft'
    ) THEN
        RAISE EXCEPTION 'DELETE on reviews_decidedrow is refused: what was asked for is frozen'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER kept BEFORE DELETE ON reviews_decidedrow
    FOR EACH ROW EXECUTE FUNCTION reviews_refuse_unless_purged();
"""
UNDONE = """
DROP TRIGGER kept ON reviews_decidedrow;
DROP FUNCTION reviews_refuse_unless_purged;
DROP TRIGGER listed_before_asked ON reviews_decidedrow;
CREATE TRIGGER listed_before_asked BEFORE INSERT OR DELETE ON reviews_decidedrow
    FOR EACH ROW EXECUTE FUNCTION reviews_refuse_unless_draft();
DROP TRIGGER decided_rows_go_along ON ledgers_delivery;
DROP FUNCTION reviews_purge_rows;
"""
PERMISSIONS = (
    ("view_console", "see the console, without contents"),
    ("view_payload", "see contents, answers and results; each look is in the trail"),
    ("triage", "take an unknown delivery, look again, add evidence"),
    ("decide", "decide what one person may decide, request what takes two"),
    ("approve", "approve or refuse what another person requested"),
    ("operate_channels", "pause and resume channels, and hold everything"),
    ("edit_channels", "change channels and credentials, request what takes two people"),
    ("export_trail", "export the trail"),
    ("purge", "remove records that are older than the policy"),
)


class Migration(migrations.Migration):
    dependencies = (
        ("reviews", "0004_requests_are_frozen"),
        ("delivery", "0009_receipts_go_along"),
        ("ledgers", "0015_retention"),
    )
    operations = (
        migrations.RunSQL(SQL, UNDONE),
        migrations.AlterModelOptions(
            "console",
            {"default_permissions": (), "managed": False, "permissions": PERMISSIONS},
        ),
    )
