"""An erased payload leaves its event whoever erases it, and none is erased that is still needed.

Both were done by `ledgers_erase_payload` alone, and its setting can be set by hand.
"""

from django.db import migrations

SQL = """
CREATE FUNCTION ledgers_note_erasing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM ledgers_delivery
        WHERE message_id = NEW.id AND status IN ('pending', 'submitting', 'unknown')
    ) THEN
        RAISE EXCEPTION 'message % still has open deliveries: its content is needed', NEW.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO ledgers_event (at, kind, step_id, from_status, to_status, rule, inputs, actor, detail)
    VALUES (clock_timestamp(), 'erase_payload', NEW.step_id, '', '', '', '',
        COALESCE(NULLIF(current_setting('counterfoil.erasing_by', true), ''), session_user::text),
        jsonb_build_object('message', NEW.name, 'payload_hash', NEW.payload_hash, 'reason',
            COALESCE(current_setting('counterfoil.erasing_why', true), '')));
    RETURN NULL;
END $$;
CREATE TRIGGER erasing_is_noted AFTER UPDATE ON ledgers_message
    FOR EACH ROW WHEN (OLD.payload IS NOT NULL AND NEW.payload IS NULL)
    EXECUTE FUNCTION ledgers_note_erasing();

CREATE OR REPLACE FUNCTION ledgers_erase_payload(message bigint, who text, reason text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    erased boolean;
BEGIN
    PERFORM set_config('counterfoil.erasing', message::text, true),
        set_config('counterfoil.erasing_by', who, true),
        set_config('counterfoil.erasing_why', reason, true);
    UPDATE ledgers_message SET payload = NULL WHERE id = message AND payload IS NOT NULL;
    erased := FOUND;
    PERFORM set_config('counterfoil.erasing', '', true),
        set_config('counterfoil.erasing_by', '', true),
        set_config('counterfoil.erasing_why', '', true);
    RETURN erased;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = (("ledgers", "0007_roster_count"),)
    operations = (migrations.RunSQL(SQL, migrations.RunSQL.noop),)
