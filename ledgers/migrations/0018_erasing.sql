-- What may be erased of the record, by which word, and that its event is written whoever erases.
-- Applied by the migration of the same name. Hashes stay: seals hold, and who has a text can still
-- show that it was the one.

CREATE OR REPLACE FUNCTION ledgers_note_erasing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM ledgers_delivery
        WHERE message_id = NEW.id AND status IN ('pending', 'submitting', 'unknown')
    ) THEN
        RAISE EXCEPTION 'message % still has open deliveries: its content is needed', NEW.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO ledgers_event (at, kind, run_id, step_id, from_status, to_status, rule, inputs,
        actor, detail)
    SELECT clock_timestamp(), 'erase_payload', s.run_id, s.id, '', '', '', '',
        COALESCE(NULLIF(current_setting('counterfoil.erasing_by', true), ''), session_user::text),
        jsonb_build_object('message', NEW.name, 'payload_hash', NEW.payload_hash, 'reason',
            COALESCE(current_setting('counterfoil.erasing_why', true), ''))
    FROM ledgers_step s WHERE s.id = NEW.step_id;
    RETURN NULL;
END $$;

-- A step's result, once its run is over: nobody works on with it.
DROP TRIGGER first_result_wins ON ledgers_step;
CREATE TRIGGER first_result_wins BEFORE UPDATE ON ledgers_step
    FOR EACH ROW WHEN (
        OLD.status = 'completed' AND (
            (OLD.run_id, OLD.step_id, OLD.version, OLD.input_hash, OLD.status,
             OLD.result_ref, OLD.result_hash, OLD.announces)
            IS DISTINCT FROM
            (NEW.run_id, NEW.step_id, NEW.version, NEW.input_hash, NEW.status,
             NEW.result_ref, NEW.result_hash, NEW.announces)
            OR OLD.result IS DISTINCT FROM NEW.result AND (NEW.result IS NOT NULL
                OR current_setting('counterfoil.erasing', true)
                    IS DISTINCT FROM 'result ' || OLD.id)))
    EXECUTE FUNCTION ledgers_refuse('the first committed result stands');

CREATE FUNCTION ledgers_note_erased_result() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM ledgers_run WHERE id = NEW.run_id AND finished_at IS NULL) THEN
        RAISE EXCEPTION 'the run of step % is not over: its result is needed', NEW.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO ledgers_event (at, kind, run_id, step_id, from_status, to_status, rule, inputs,
        actor, detail)
    VALUES (clock_timestamp(), 'erase_result', NEW.run_id, NEW.id, '', '', '', '',
        COALESCE(NULLIF(current_setting('counterfoil.erasing_by', true), ''), session_user::text),
        jsonb_build_object('result_hash', NEW.result_hash, 'reason',
            COALESCE(current_setting('counterfoil.erasing_why', true), '')));
    RETURN NULL;
END $$;
CREATE TRIGGER erasing_is_noted AFTER UPDATE ON ledgers_step
    FOR EACH ROW WHEN (OLD.status = 'completed' AND OLD.result IS NOT NULL AND NEW.result IS NULL)
    EXECUTE FUNCTION ledgers_note_erased_result();

-- What a provider answered or reported, word for word: it becomes its own hash, and nothing else.
CREATE FUNCTION ledgers_erased(answer text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN answer = '' THEN ''
        ELSE 'erased, sha256 ' || ledgers_answer_sha256(answer) END
$$;
DROP TRIGGER closed_is_final ON ledgers_attempt;
CREATE TRIGGER closed_is_final BEFORE UPDATE ON ledgers_attempt
    FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL AND NOT (
        COALESCE(current_setting('counterfoil.erasing', true), '') = 'answers'
        AND NEW.response = ledgers_erased(OLD.response)
        AND to_jsonb(OLD) - 'response' = to_jsonb(NEW) - 'response'))
    EXECUTE FUNCTION ledgers_refuse('a closed attempt is its own evidence');
DROP TRIGGER append_only ON ledgers_evidence;
CREATE TRIGGER append_only BEFORE UPDATE ON ledgers_evidence
    FOR EACH ROW WHEN (NOT (
        COALESCE(current_setting('counterfoil.erasing', true), '') = 'answers'
        AND NEW.response = ledgers_erased(OLD.response)
        AND to_jsonb(OLD) - 'response' = to_jsonb(NEW) - 'response'))
    EXECUTE FUNCTION ledgers_refuse('evidence is append-only');

CREATE FUNCTION ledgers_note_erased_answer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM ledgers_delivery WHERE id = NEW.delivery_id AND finished_at IS NULL) THEN
        RAISE EXCEPTION 'the delivery of % % is open: its answers are needed', TG_ARGV[0], NEW.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO ledgers_event (at, kind, delivery_id, from_status, to_status, rule, inputs, actor,
        detail)
    VALUES (clock_timestamp(), 'erase_answer', NEW.delivery_id, '', '', '', '',
        COALESCE(NULLIF(current_setting('counterfoil.erasing_by', true), ''), session_user::text),
        jsonb_build_object('of', TG_ARGV[0], 'id', NEW.id, 'reason',
            COALESCE(current_setting('counterfoil.erasing_why', true), '')));
    RETURN NULL;
END $$;
CREATE TRIGGER erasing_is_noted AFTER UPDATE ON ledgers_attempt
    FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL AND OLD.response <> NEW.response)
    EXECUTE FUNCTION ledgers_note_erased_answer('attempt');
CREATE TRIGGER erasing_is_noted AFTER UPDATE ON ledgers_evidence
    FOR EACH ROW WHEN (OLD.response <> NEW.response)
    EXECUTE FUNCTION ledgers_note_erased_answer('evidence');

CREATE FUNCTION ledgers_erase_result(step bigint, who text, reason text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    erased boolean;
BEGIN
    PERFORM set_config('counterfoil.erasing', 'result ' || step, true),
        set_config('counterfoil.erasing_by', who, true),
        set_config('counterfoil.erasing_why', reason, true);
    UPDATE ledgers_step SET result = NULL
    WHERE id = step AND status = 'completed' AND result IS NOT NULL;
    erased := FOUND;
    PERFORM set_config('counterfoil.erasing', '', true),
        set_config('counterfoil.erasing_by', '', true),
        set_config('counterfoil.erasing_why', '', true);
    RETURN erased;
END $$;

-- Gives how many answers were erased, of attempts and of findings together.
CREATE FUNCTION ledgers_erase_answers(delivery bigint, who text, reason text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    attempts bigint;
    findings bigint;
BEGIN
    PERFORM set_config('counterfoil.erasing', 'answers', true),
        set_config('counterfoil.erasing_by', who, true),
        set_config('counterfoil.erasing_why', reason, true);
    UPDATE ledgers_attempt SET response = ledgers_erased(response)
    WHERE delivery_id = delivery AND closed_at IS NOT NULL AND response <> ledgers_erased(response);
    GET DIAGNOSTICS attempts = ROW_COUNT;
    UPDATE ledgers_evidence SET response = ledgers_erased(response)
    WHERE delivery_id = delivery AND response <> ledgers_erased(response);
    GET DIAGNOSTICS findings = ROW_COUNT;
    PERFORM set_config('counterfoil.erasing', '', true),
        set_config('counterfoil.erasing_by', '', true),
        set_config('counterfoil.erasing_why', '', true);
    RETURN attempts + findings;
END $$;
