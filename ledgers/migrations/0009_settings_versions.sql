-- A change of a channel or a credential raises its version and is in the trail, whoever made it
-- and by whichever way: what somebody agreed to is bound to the version that they saw.
--
-- `counterfoil.person` and `counterfoil.change` (a JSON object) say who and why; without them it
-- was the database's own user. Values are not kept here: the trail can never be erased.
CREATE FUNCTION ledgers_settings_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed jsonb;
    who text := coalesce(
        nullif(current_setting('counterfoil.person', true), ''), 'sql:' || session_user);
    why jsonb := coalesce(nullif(current_setting('counterfoil.change', true), ''), '{}')::jsonb;
BEGIN
    -- A pause is a switch with an event of its own, and machines fill in what is left out here.
    SELECT jsonb_agg(regexp_replace(n.key, '_id$', '') ORDER BY n.key) INTO changed
    FROM jsonb_each(to_jsonb(NEW)) n JOIN jsonb_each(to_jsonb(OLD)) o USING (key)
    WHERE n.value IS DISTINCT FROM o.value
      AND n.key NOT IN ('paused_at', 'pause_reason', 'verified_at', 'row_version')
      AND NOT (n.key = 'fingerprint' AND o.value = '""');
    NEW.row_version := OLD.row_version;
    IF changed IS NOT NULL THEN
        NEW.row_version := OLD.row_version + 1;
        INSERT INTO ledgers_event
            (at, kind, from_status, to_status, rule, inputs, actor, detail)
        VALUES (clock_timestamp(), 'change_' || TG_ARGV[0], '', '', '', '', left(who, 100),
            jsonb_build_object(TG_ARGV[0], to_jsonb(OLD) ->> TG_ARGV[1], 'fields', changed) || why);
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER changed BEFORE UPDATE ON ledgers_channel
    FOR EACH ROW EXECUTE FUNCTION ledgers_settings_changed('channel', 'slug');
CREATE TRIGGER changed BEFORE UPDATE ON ledgers_credential
    FOR EACH ROW EXECUTE FUNCTION ledgers_settings_changed('credential', 'name');
