-- What the database itself refuses, whoever asks. Applied by the migration of the same name.

-- One sequence of fences for everything, so that no row and no re-created queue item ever sees
-- the same fence twice.
CREATE SEQUENCE ledgers_fence AS bigint;

-- The settle updates these rows in place: room on the page keeps such an update cheap.
ALTER TABLE ledgers_delivery SET (fillfactor = 70);
ALTER TABLE ledgers_attempt SET (fillfactor = 60);
-- The outbox is emptied as fast as it is filled: claim scans must not wade through dead rows.
ALTER TABLE ledgers_outboxitem SET (
    fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500
);

CREATE FUNCTION ledgers_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% on % is refused: %', TG_OP, TG_TABLE_NAME, TG_ARGV[0]
        USING ERRCODE = 'restrict_violation';
END $$;

-- Django's test flush truncates. Only a database that carries the setting itself lets it: a
-- session's own SET is not looked at.
CREATE FUNCTION ledgers_refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
        WHERE d.datname = current_database() AND s.setrole = 0
          AND 'counterfoil.allow_truncate=on' = ANY (s.setconfig)
    ) THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'TRUNCATE on % is refused: it is the audit record', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledgers_event
    FOR EACH ROW EXECUTE FUNCTION ledgers_refuse('the trail is append-only');
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledgers_evidence
    FOR EACH ROW EXECUTE FUNCTION ledgers_refuse('evidence is append-only');

CREATE TRIGGER closed_is_final BEFORE UPDATE ON ledgers_attempt
    FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL)
    EXECUTE FUNCTION ledgers_refuse('a closed attempt is its own evidence');
CREATE TRIGGER written_ahead_is_frozen BEFORE UPDATE ON ledgers_attempt
    FOR EACH ROW WHEN (
        (OLD.delivery_id, OLD.number, OLD.opened_at, OLD.worker, OLD.host, OLD.build, OLD.fence,
         OLD.idempotency_key, OLD.key_scope, OLD.body_hash, OLD.authority, OLD.deadline_s)
        IS DISTINCT FROM
        (NEW.delivery_id, NEW.number, NEW.opened_at, NEW.worker, NEW.host, NEW.build, NEW.fence,
         NEW.idempotency_key, NEW.key_scope, NEW.body_hash, NEW.authority, NEW.deadline_s)
        -- A call that runs on keeps its lease; one that is over is not made shorter afterwards.
        OR NEW.lease_until < OLD.lease_until)
    EXECUTE FUNCTION ledgers_refuse('what was written ahead is frozen');
CREATE TRIGGER kept BEFORE DELETE ON ledgers_attempt
    FOR EACH ROW EXECUTE FUNCTION ledgers_refuse('attempts are the audit record');

CREATE TRIGGER identity_is_frozen BEFORE UPDATE ON ledgers_delivery
    FOR EACH ROW WHEN (
        (OLD.delivery_id, OLD.message_id, OLD.destination, OLD.part, OLD.generation, OLD.body_hash,
         OLD.idempotency_key, OLD.recognizer)
        IS DISTINCT FROM
        (NEW.delivery_id, NEW.message_id, NEW.destination, NEW.part, NEW.generation, NEW.body_hash,
         NEW.idempotency_key, NEW.recognizer))
    EXECUTE FUNCTION ledgers_refuse('the identity of a delivery is frozen');
CREATE TRIGGER kept BEFORE DELETE ON ledgers_delivery
    FOR EACH ROW EXECUTE FUNCTION ledgers_refuse('deliveries are the audit record');

-- A message's content may only become nothing, and only through ledgers_erase_payload.
CREATE TRIGGER content_is_frozen BEFORE UPDATE ON ledgers_message
    FOR EACH ROW WHEN (
        NEW.payload IS NOT NULL
        OR current_setting('counterfoil.erasing', true) IS DISTINCT FROM OLD.id::text
        OR (OLD.step_id, OLD.name, OLD.channel_id, OLD.payload_hash, OLD.contract, OLD.parts,
            OLD.not_before, OLD.not_after)
           IS DISTINCT FROM
           (NEW.step_id, NEW.name, NEW.channel_id, NEW.payload_hash, NEW.contract, NEW.parts,
            NEW.not_before, NEW.not_after))
    EXECUTE FUNCTION ledgers_refuse('a message is frozen when it is recorded');
CREATE TRIGGER kept BEFORE DELETE ON ledgers_message
    FOR EACH ROW EXECUTE FUNCTION ledgers_refuse('messages are the audit record');

-- A first result stands for ever, and with it what the step owes.
CREATE TRIGGER first_result_wins BEFORE UPDATE ON ledgers_step
    FOR EACH ROW WHEN (
        OLD.status = 'completed'
        AND (OLD.run_id, OLD.step_id, OLD.version, OLD.input_hash, OLD.status, OLD.result,
             OLD.result_ref, OLD.result_hash, OLD.announces)
            IS DISTINCT FROM
            (NEW.run_id, NEW.step_id, NEW.version, NEW.input_hash, NEW.status, NEW.result,
             NEW.result_ref, NEW.result_hash, NEW.announces))
    EXECUTE FUNCTION ledgers_refuse('the first committed result stands');
CREATE TRIGGER kept BEFORE DELETE ON ledgers_step
    FOR EACH ROW EXECUTE FUNCTION ledgers_refuse('steps are the audit record');
CREATE TRIGGER name_is_identity BEFORE UPDATE ON ledgers_run
    FOR EACH ROW WHEN (OLD.run_id <> NEW.run_id)
    EXECUTE FUNCTION ledgers_refuse('the name of a run is part of identities');
CREATE TRIGGER kept BEFORE DELETE ON ledgers_run
    FOR EACH ROW EXECUTE FUNCTION ledgers_refuse('runs are the audit record');

-- A channel's slug is part of identities.
CREATE FUNCTION ledgers_keep_slug() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM ledgers_message WHERE channel_id = OLD.id) THEN
        RAISE EXCEPTION 'the slug of channel % is part of identities: it cannot change', OLD.slug
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER slug_is_identity BEFORE UPDATE OF slug ON ledgers_channel
    FOR EACH ROW WHEN (OLD.slug <> NEW.slug) EXECUTE FUNCTION ledgers_keep_slug();

CREATE TRIGGER namespace_is_identity BEFORE UPDATE ON ledgers_installation
    FOR EACH ROW WHEN (OLD.namespace <> NEW.namespace
                       OR OLD.recognizer_secret <> NEW.recognizer_secret)
    EXECUTE FUNCTION ledgers_refuse('every identity is derived in the namespace');
CREATE TRIGGER kept BEFORE DELETE ON ledgers_installation
    FOR EACH ROW EXECUTE FUNCTION ledgers_refuse('every identity is derived in the namespace');

-- Row triggers do not see TRUNCATE.
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ledgers_event
    FOR EACH STATEMENT EXECUTE FUNCTION ledgers_refuse_truncate();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ledgers_evidence
    FOR EACH STATEMENT EXECUTE FUNCTION ledgers_refuse_truncate();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ledgers_attempt
    FOR EACH STATEMENT EXECUTE FUNCTION ledgers_refuse_truncate();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ledgers_delivery
    FOR EACH STATEMENT EXECUTE FUNCTION ledgers_refuse_truncate();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ledgers_message
    FOR EACH STATEMENT EXECUTE FUNCTION ledgers_refuse_truncate();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ledgers_step
    FOR EACH STATEMENT EXECUTE FUNCTION ledgers_refuse_truncate();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ledgers_run
    FOR EACH STATEMENT EXECUTE FUNCTION ledgers_refuse_truncate();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ledgers_installation
    FOR EACH STATEMENT EXECUTE FUNCTION ledgers_refuse_truncate();

-- Erasing a payload: the content goes, its hash and everything that happened stays.
CREATE FUNCTION ledgers_erase_payload(message bigint, who text, reason text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    erased boolean;
BEGIN
    IF EXISTS (
        SELECT 1 FROM ledgers_delivery
        WHERE message_id = message AND status IN ('pending', 'submitting', 'unknown')
    ) THEN
        RAISE EXCEPTION 'message % still has open deliveries: its content is needed', message
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM set_config('counterfoil.erasing', message::text, true);
    UPDATE ledgers_message SET payload = NULL WHERE id = message AND payload IS NOT NULL;
    erased := FOUND;
    PERFORM set_config('counterfoil.erasing', '', true);
    IF erased THEN
        INSERT INTO ledgers_event (at, kind, step_id, from_status, to_status, rule, inputs, actor, detail)
        SELECT clock_timestamp(), 'erase_payload', m.step_id, '', '', '', '', who,
               jsonb_build_object('message', m.name, 'payload_hash', m.payload_hash, 'reason', reason)
        FROM ledgers_message m WHERE m.id = message;
    END IF;
    RETURN erased;
END $$;
