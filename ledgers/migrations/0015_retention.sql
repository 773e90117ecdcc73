-- What may leave the record, and what it leaves behind. Applied by the migration of the same name.

-- Why each of these runs must be kept; a run that is not among the answers may be purged.
CREATE FUNCTION ledgers_kept_because(runs bigint[], policy_s float8)
RETURNS TABLE (run bigint, why text) LANGUAGE sql STABLE AS $$
    WITH line AS MATERIALIZED (
        SELECT clock_timestamp() AS now, clock_timestamp() - make_interval(secs => policy_s) AS old
    ), r AS MATERIALIZED (
        SELECT id, status, finished_at FROM ledgers_run WHERE id = ANY (runs)
    ), s AS MATERIALIZED (
        SELECT s.id, s.run_id, s.step_id, s.status, s.announces FROM ledgers_step s
        WHERE s.run_id = ANY (runs)
    ), m AS MATERIALIZED (
        SELECT m.id, m.step_id, m.name, s.run_id,
            make_interval(secs => COALESCE((m.contract->'window'->>'seconds')::float8, 0)) AS span
        FROM ledgers_message m JOIN s ON s.id = m.step_id
    ), d AS MATERIALIZED (
        SELECT d.*, m.run_id, m.span FROM ledgers_delivery d JOIN m ON m.id = d.message_id
    ), a AS MATERIALIZED (
        SELECT a.id, a.closed_at, a.lease_until, d.run_id FROM ledgers_attempt a
        JOIN d ON d.id = a.delivery_id
    )
    SELECT id, 'it is ' || status FROM r WHERE finished_at IS NULL
    UNION ALL SELECT id, 'it ended after the policy''s line' FROM r, line WHERE finished_at > old
    UNION ALL SELECT run_id, 'step ' || step_id || ' is running' FROM s WHERE status = 'running'
    UNION ALL SELECT s.run_id, 'step ' || s.step_id || ' still owes ' || name
        FROM s, jsonb_array_elements_text(s.announces) AS owed (name)
        WHERE s.status = 'completed'
          AND NOT EXISTS (SELECT FROM m WHERE m.step_id = s.id AND m.name = owed.name)
    UNION ALL SELECT run_id, 'delivery ' || delivery_id || ' is ' || status FROM d
        WHERE finished_at IS NULL
    UNION ALL SELECT run_id, 'delivery ' || delivery_id || ' came to rest after the policy''s line'
        FROM d, line WHERE finished_at > old OR decided_at > old
    UNION ALL SELECT run_id, 'delivery ' || delivery_id || ' is disputed' FROM d
        WHERE disputed_at IS NOT NULL
    UNION ALL SELECT run_id, 'delivery ' || delivery_id || ' expired, and nobody decided' FROM d
        WHERE status = 'expired' AND decision = ''
    UNION ALL SELECT run_id, 'the key of delivery ' || delivery_id || ' still protects' FROM d, line
        WHERE key_first_used_at + span > now
    UNION ALL SELECT d.run_id, 'delivery ' || d.delivery_id || ' is queued' FROM d
        JOIN ledgers_outboxitem o ON o.delivery_id = d.id WHERE d.finished_at IS NOT NULL
    UNION ALL SELECT run_id, 'attempt ' || a.id || ' was under way after the policy''s line'
        FROM a, line WHERE closed_at IS NULL AND lease_until > old
    UNION ALL SELECT e.run_id, 'event ' || e.id || ' waits for its seal' FROM (
        SELECT e.id, e.run_id FROM ledgers_event e WHERE e.run_id = ANY (runs)
        UNION ALL SELECT e.id, d.run_id FROM ledgers_event e JOIN d ON d.id = e.delivery_id) e
        JOIN ledgers_unsealed u ON u.kind = 'event' AND u.row_id = e.id
    UNION ALL SELECT a.run_id, 'attempt ' || a.id || ' waits for its seal' FROM a
        JOIN ledgers_unsealed u ON u.kind = 'attempt' AND u.row_id = a.id
    UNION ALL SELECT d.run_id, 'finding ' || v.id || ' waits for its seal' FROM d
        JOIN ledgers_evidence v ON v.delivery_id = d.id
        JOIN ledgers_unsealed u ON u.kind = 'evidence' AND u.row_id = v.id
$$;

-- Everything that hangs on these runs, by number.
CREATE FUNCTION ledgers_events_of(runs bigint[]) RETURNS SETOF bigint LANGUAGE sql STABLE AS $$
    SELECT id FROM ledgers_event WHERE run_id = ANY (runs)
    UNION SELECT e.id FROM ledgers_event e JOIN ledgers_delivery d ON d.id = e.delivery_id
        JOIN ledgers_message m ON m.id = d.message_id JOIN ledgers_step s ON s.id = m.step_id
        WHERE s.run_id = ANY (runs)
    -- Those of before they named their run.
    UNION SELECT e.id FROM ledgers_event e JOIN ledgers_step s ON s.id = e.step_id
        WHERE e.kind = 'erase_payload' AND e.run_id IS NULL AND s.run_id = ANY (runs)
$$;

CREATE FUNCTION ledgers_purge_gate() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kept record;
BEGIN
    IF NEW.policy_s IS NULL OR NEW.policy_s < 86400 THEN
        RAISE EXCEPTION 'a purge keeps at least the last day: policy_s is %', NEW.policy_s
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF btrim(COALESCE(NEW.reason, '')) = '' OR btrim(COALESCE(NEW.actor, '')) = '' THEN
        RAISE EXCEPTION 'a purge needs a reason and a name' USING ERRCODE = 'restrict_violation';
    END IF;
    -- Who records into a run, reopens it or moves a delivery comes before or after, not meanwhile.
    PERFORM FROM ledgers_run WHERE id = ANY (NEW.runs) ORDER BY id FOR UPDATE;
    PERFORM FROM ledgers_delivery d WHERE d.message_id IN (
        SELECT m.id FROM ledgers_message m JOIN ledgers_step s ON s.id = m.step_id
        WHERE s.run_id = ANY (NEW.runs)) ORDER BY d.id FOR UPDATE;
    SELECT r.run_id, k.why INTO kept FROM ledgers_kept_because(NEW.runs, NEW.policy_s) k
        JOIN ledgers_run r ON r.id = k.run LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'run % is kept: %', kept.run_id, kept.why
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.at := clock_timestamp();
    NEW.runs := ARRAY(SELECT id FROM ledgers_run WHERE id = ANY (NEW.runs) ORDER BY id);
    NEW.events := ARRAY(SELECT e FROM ledgers_events_of(NEW.runs) e ORDER BY e);
    NEW.attempts := ARRAY(SELECT a.id FROM ledgers_attempt a
        JOIN ledgers_delivery d ON d.id = a.delivery_id JOIN ledgers_message m ON m.id = d.message_id
        JOIN ledgers_step s ON s.id = m.step_id WHERE s.run_id = ANY (NEW.runs) ORDER BY a.id);
    NEW.evidence := ARRAY(SELECT v.id FROM ledgers_evidence v
        JOIN ledgers_delivery d ON d.id = v.delivery_id JOIN ledgers_message m ON m.id = d.message_id
        JOIN ledgers_step s ON s.id = m.step_id WHERE s.run_id = ANY (NEW.runs) ORDER BY v.id);
    RETURN NEW;
END $$;
CREATE TRIGGER gate BEFORE INSERT ON ledgers_purge
    FOR EACH ROW EXECUTE FUNCTION ledgers_purge_gate();

-- What a receipt says, in one spelling: its event holds the hash, so that neither the list of what
-- is gone nor a tombstone can be changed afterwards.
CREATE FUNCTION ledgers_purge_sha256(receipt bigint) RETURNS text LANGUAGE sql STABLE
SET timezone = 'UTC' SET extra_float_digits = 1 AS $$
    SELECT encode(sha256(convert_to(jsonb_build_object(
        'receipt', p.id, 'at', p.at, 'actor', p.actor, 'reason', p.reason, 'policy_s', p.policy_s,
        'runs', p.runs, 'events', p.events, 'attempts', p.attempts, 'evidence', p.evidence,
        'tombstones', (SELECT jsonb_agg(jsonb_build_array(t.run_id, t.trigger_key, t.agent,
            t.status, t.finished_at) ORDER BY t.run_id COLLATE "C")
            FROM ledgers_runtombstone t WHERE t.purge_id = p.id),
        'deliveries', (SELECT jsonb_agg(jsonb_build_array(t.delivery_id, t.status, t.finished_at)
            ORDER BY t.delivery_id) FROM ledgers_deliverytombstone t
            JOIN ledgers_runtombstone r ON r.id = t.run_id WHERE r.purge_id = p.id)
        )::text, 'UTF8')), 'hex')
    FROM ledgers_purge p WHERE p.id = receipt
$$;

CREATE FUNCTION ledgers_purge_carry_out() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    deliveries bigint;
BEGIN
    INSERT INTO ledgers_runtombstone (run_id, trigger_key, agent, status, finished_at, purge_id)
    SELECT run_id, trigger_key, agent, status, finished_at, NEW.id FROM ledgers_run
    WHERE id = ANY (NEW.runs) ORDER BY id;
    INSERT INTO ledgers_deliverytombstone (delivery_id, run_id, status, finished_at)
    SELECT d.delivery_id, t.id, d.status, d.finished_at FROM ledgers_delivery d
    JOIN ledgers_message m ON m.id = d.message_id JOIN ledgers_step s ON s.id = m.step_id
    JOIN ledgers_run r ON r.id = s.run_id JOIN ledgers_runtombstone t ON t.run_id = r.run_id
    WHERE r.id = ANY (NEW.runs);
    GET DIAGNOSTICS deliveries = ROW_COUNT;
    PERFORM set_config('counterfoil.purging', NEW.id::text, true);
    DELETE FROM ledgers_event WHERE id = ANY (NEW.events);
    DELETE FROM ledgers_evidence WHERE id = ANY (NEW.evidence);
    DELETE FROM ledgers_attempt WHERE id = ANY (NEW.attempts);
    DELETE FROM ledgers_delivery d USING ledgers_message m, ledgers_step s
        WHERE m.id = d.message_id AND s.id = m.step_id AND s.run_id = ANY (NEW.runs);
    DELETE FROM ledgers_message m USING ledgers_step s
        WHERE s.id = m.step_id AND s.run_id = ANY (NEW.runs);
    DELETE FROM ledgers_step WHERE run_id = ANY (NEW.runs);
    DELETE FROM ledgers_run WHERE id = ANY (NEW.runs);
    PERFORM set_config('counterfoil.purging', '', true);
    INSERT INTO ledgers_event (at, kind, from_status, to_status, rule, inputs, actor, detail)
    SELECT NEW.at, 'purge', '', '', '', '', NEW.actor, jsonb_build_object(
        'receipt', NEW.id, 'reason', NEW.reason, 'policy_days', NEW.policy_s / 86400,
        'runs', cardinality(NEW.runs), 'deliveries', deliveries,
        'events', cardinality(NEW.events), 'attempts', cardinality(NEW.attempts),
        'evidence', cardinality(NEW.evidence), 'sha256', ledgers_purge_sha256(NEW.id),
        'seal', (SELECT number || ':' || encode(hash, 'hex') FROM ledgers_seal
                 ORDER BY number DESC LIMIT 1));
    RETURN NULL;
END $$;
CREATE TRIGGER carry_out AFTER INSERT ON ledgers_purge
    FOR EACH ROW EXECUTE FUNCTION ledgers_purge_carry_out();

-- The one way to purge; to insert a receipt by hand comes to the same.
CREATE FUNCTION ledgers_purge(runs bigint[], policy_s float8, who text, why text) RETURNS bigint
LANGUAGE sql AS $$
    INSERT INTO ledgers_purge (at, actor, reason, policy_s, runs, events, attempts, evidence)
    VALUES (clock_timestamp(), who, why, policy_s, runs, '{}', '{}', '{}') RETURNING id
$$;

-- Deleting is refused as before, but for what a receipt names. The setting can be set by hand: then
-- what was deleted is held against the receipt, by statement, since a purge removes thousands.
CREATE FUNCTION ledgers_named_in_receipt() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    receipt text := COALESCE(NULLIF(current_setting('counterfoil.purging', true), ''), '0');
    p ledgers_purge;
    unnamed bigint;
BEGIN
    IF receipt ~ '^[0-9]{1,18}$' THEN
        SELECT * INTO p FROM ledgers_purge WHERE id = receipt::bigint;
    END IF;
    IF TG_ARGV[0] = 'id' THEN
        SELECT id INTO unnamed FROM gone WHERE id NOT IN (SELECT unnest(CASE TG_TABLE_NAME
            WHEN 'ledgers_event' THEN p.events WHEN 'ledgers_attempt' THEN p.attempts
            WHEN 'ledgers_evidence' THEN p.evidence ELSE p.runs END)) LIMIT 1;
    ELSIF TG_ARGV[0] = 'run' THEN
        SELECT id INTO unnamed FROM gone WHERE run_id NOT IN (SELECT unnest(p.runs)) LIMIT 1;
    ELSIF TG_ARGV[0] = 'step' THEN
        SELECT id INTO unnamed FROM gone WHERE NOT EXISTS (SELECT FROM ledgers_step s
            WHERE s.id = gone.step_id AND s.run_id = ANY (p.runs)) LIMIT 1;
    ELSE
        SELECT id INTO unnamed FROM gone WHERE NOT EXISTS (SELECT FROM ledgers_deliverytombstone t
            JOIN ledgers_runtombstone r ON r.id = t.run_id
            WHERE t.delivery_id = gone.delivery_id AND r.purge_id = p.id) LIMIT 1;
    END IF;
    IF FOUND THEN
        RAISE EXCEPTION 'DELETE on % is refused: no receipt names %', TG_TABLE_NAME, unnamed
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

DROP TRIGGER append_only ON ledgers_event;
CREATE TRIGGER append_only BEFORE UPDATE ON ledgers_event
    FOR EACH ROW EXECUTE FUNCTION ledgers_refuse('the trail is append-only');
DROP TRIGGER append_only ON ledgers_evidence;
CREATE TRIGGER append_only BEFORE UPDATE ON ledgers_evidence
    FOR EACH ROW EXECUTE FUNCTION ledgers_refuse('evidence is append-only');
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT * FROM (VALUES
        ('event', 'the trail is append-only', 'id'),
        ('evidence', 'evidence is append-only', 'id'),
        ('attempt', 'attempts are the audit record', 'id'),
        ('delivery', 'deliveries are the audit record', 'delivery'),
        ('message', 'messages are the audit record', 'step'),
        ('step', 'steps are the audit record', 'run'),
        ('run', 'runs are the audit record', 'id')) AS v (name, why, key)
    LOOP
        EXECUTE format('DROP TRIGGER IF EXISTS kept ON ledgers_%s', one.name);
        EXECUTE format($sql$
            CREATE TRIGGER kept BEFORE DELETE ON ledgers_%1$s FOR EACH ROW
                WHEN (COALESCE(current_setting('counterfoil.purging', true), '') = '')
                EXECUTE FUNCTION ledgers_refuse(%2$L);
            CREATE TRIGGER gone_by_receipt AFTER DELETE ON ledgers_%1$s
                REFERENCING OLD TABLE AS gone FOR EACH STATEMENT
                EXECUTE FUNCTION ledgers_named_in_receipt(%3$L)$sql$, one.name, one.why, one.key);
    END LOOP;
    FOR one IN SELECT * FROM (VALUES ('purge'), ('runtombstone'), ('deliverytombstone')) AS v (name)
    LOOP
        EXECUTE format($sql$
            CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledgers_%1$s
                FOR EACH ROW EXECUTE FUNCTION ledgers_refuse('what was purged is on record');
            CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ledgers_%1$s
                FOR EACH STATEMENT EXECUTE FUNCTION ledgers_refuse_truncate()$sql$, one.name);
    END LOOP;
END $$;

-- A run that was purged is not begun again under its name or by its trigger: its work is done, and
-- what it owed was sent or given up.
CREATE FUNCTION ledgers_refuse_purged_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM ledgers_runtombstone WHERE run_id = NEW.run_id)
       OR NEW.trigger_key IS NOT NULL
       AND EXISTS (SELECT FROM ledgers_runtombstone WHERE trigger_key = NEW.trigger_key) THEN
        RAISE EXCEPTION 'run % is over, and its records are purged', NEW.run_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER not_purged BEFORE INSERT ON ledgers_run
    FOR EACH ROW EXECUTE FUNCTION ledgers_refuse_purged_run();
