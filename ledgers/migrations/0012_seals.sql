-- What is sealed, and in which words. Applied by the migration of the same name.

-- Every row of the record waits for its seal from the transaction that wrote it. Sequence order is
-- not commit order: whoever sealed "all events up to the highest number" would miss one that drew
-- its number early and is committed late. By statement: a wave writes many rows at once.
CREATE FUNCTION ledgers_wait_for_seal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ledgers_unsealed (kind, row_id) SELECT TG_ARGV[0], id FROM fresh;
    RETURN NULL;
END $$;
CREATE TRIGGER waits_for_seal AFTER INSERT ON ledgers_event
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT
    EXECUTE FUNCTION ledgers_wait_for_seal('event');
CREATE TRIGGER waits_for_seal AFTER INSERT ON ledgers_evidence
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT
    EXECUTE FUNCTION ledgers_wait_for_seal('evidence');

-- An attempt is final once it is closed. No attempt is inserted closed.
CREATE FUNCTION ledgers_closed_waits_for_seal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ledgers_unsealed (kind, row_id)
    SELECT 'attempt', f.id FROM fresh f JOIN stale s ON s.id = f.id
    WHERE s.closed_at IS NULL AND f.closed_at IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER closed_waits_for_seal AFTER UPDATE ON ledgers_attempt
    REFERENCING OLD TABLE AS stale NEW TABLE AS fresh FOR EACH STATEMENT
    EXECUTE FUNCTION ledgers_closed_waits_for_seal();

-- What was written before there were seals is sealed as it is now.
INSERT INTO ledgers_unsealed (kind, row_id)
SELECT 'event', id FROM ledgers_event
UNION ALL SELECT 'attempt', id FROM ledgers_attempt WHERE closed_at IS NOT NULL
UNION ALL SELECT 'evidence', id FROM ledgers_evidence;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledgers_seal
    FOR EACH ROW EXECUTE FUNCTION ledgers_refuse('seals are append-only');
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ledgers_seal
    FOR EACH STATEMENT EXECUTE FUNCTION ledgers_refuse_truncate();

-- An answer that was erased is kept as its hash, so that its seal still holds.
CREATE FUNCTION ledgers_answer_sha256(answer text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN answer ~ '^erased, sha256 [0-9a-f]{64}$' THEN right(answer, 64)
        ELSE encode(sha256(convert_to(answer, 'UTF8')), 'hex') END
$$;

-- Each row in one spelling, whatever the session's settings: PostgreSQL's own text of jsonb, with
-- moments in UTC. Only columns that no trigger lets change are in it, by names and not by the
-- numbers of other rows. A delivery's identity is in the event that recorded it, a step's result
-- in the one that completed it. What a stranger wrote and may have to be erased is in it by hash.
CREATE FUNCTION ledgers_texts(kind text, ids bigint[]) RETURNS TABLE (id bigint, body text)
LANGUAGE plpgsql STABLE SET timezone = 'UTC' SET extra_float_digits = 1 AS $$
#variable_conflict use_column
BEGIN
    IF kind = 'event' THEN
        RETURN QUERY
        SELECT e.id, (jsonb_build_object(
            'record', 'event', 'id', e.id, 'at', e.at, 'kind', e.kind, 'run', r.run_id,
            'step', s.step_id, 'step_version', s.version, 'delivery', d.delivery_id,
            'attempt', a.number, 'from_status', e.from_status, 'to_status', e.to_status,
            'row_version', e.row_version, 'rule', e.rule, 'inputs', e.inputs, 'actor', e.actor,
            'detail', e.detail)
            || CASE WHEN e.kind = 'complete_step' AND s.id IS NOT NULL THEN jsonb_build_object(
                'input_hash', s.input_hash, 'result_hash', s.result_hash,
                'result_ref', s.result_ref, 'announces', s.announces) ELSE '{}' END
            || CASE WHEN m.id IS NOT NULL THEN jsonb_build_object(
                'run', mr.run_id, 'step', ms.step_id, 'step_version', ms.version,
                'message', m.name, 'channel', c.slug, 'payload_hash', m.payload_hash,
                'contract_sha256', encode(sha256(convert_to(m.contract::text, 'UTF8')), 'hex'),
                'parts', m.parts, 'destinations', m.destinations, 'not_before', m.not_before,
                'not_after', m.not_after, 'destination', d.destination, 'part', d.part,
                'generation', d.generation, 'body_hash', d.body_hash,
                'idempotency_key', d.idempotency_key, 'recognizer', d.recognizer)
                ELSE '{}' END)::text
        FROM ledgers_event e
        LEFT JOIN ledgers_run r ON r.id = e.run_id
        LEFT JOIN ledgers_step s ON s.id = e.step_id
        LEFT JOIN ledgers_attempt a ON a.id = e.attempt_id
        LEFT JOIN ledgers_delivery d ON d.id = e.delivery_id
        LEFT JOIN ledgers_message m ON m.id = d.message_id AND e.kind = 'record'
        LEFT JOIN ledgers_channel c ON c.id = m.channel_id
        LEFT JOIN ledgers_step ms ON ms.id = m.step_id
        LEFT JOIN ledgers_run mr ON mr.id = ms.run_id
        WHERE e.id = ANY (ids);
    ELSIF kind = 'attempt' THEN
        RETURN QUERY
        SELECT a.id, jsonb_build_object(
            'record', 'attempt', 'id', a.id, 'delivery', d.delivery_id, 'number', a.number,
            'opened_at', a.opened_at, 'closed_at', a.closed_at, 'worker', a.worker,
            'host', a.host, 'build', a.build, 'fence', a.fence,
            'idempotency_key', a.idempotency_key, 'key_scope', a.key_scope,
            'body_hash', a.body_hash, 'authority', a.authority, 'deadline_s', a.deadline_s,
            'lease_until', a.lease_until, 'phase', a.phase, 'bytes_written', a.bytes_written,
            'outcome', a.outcome, 'permanent', a.permanent, 'replayed', a.replayed,
            'late', a.late, 'retry_after_s', a.retry_after_s,
            'provider_message_id', a.provider_message_id,
            'response_sha256', ledgers_answer_sha256(a.response),
            'error', a.error)::text
        FROM ledgers_attempt a JOIN ledgers_delivery d ON d.id = a.delivery_id
        WHERE a.id = ANY (ids) AND a.closed_at IS NOT NULL;
    ELSIF kind = 'evidence' THEN
        RETURN QUERY
        SELECT v.id, jsonb_build_object(
            'record', 'evidence', 'id', v.id, 'delivery', d.delivery_id, 'taken_at', v.taken_at,
            'created_at', v.created_at, 'method', v.method, 'verdict', v.verdict,
            'searched', v.searched, 'why', v.why, 'covered_from', v.covered_from,
            'pages', v.pages, 'provider_message_id', v.provider_message_id,
            'response_sha256', ledgers_answer_sha256(v.response),
            'seen_by', v.seen_by)::text
        FROM ledgers_evidence v JOIN ledgers_delivery d ON d.id = v.delivery_id
        WHERE v.id = ANY (ids);
    ELSE
        RAISE EXCEPTION 'no record of kind % is sealed', kind;
    END IF;
END $$;

-- Leaves of an RFC 6962 tree: hashed apart from its nodes.
CREATE FUNCTION ledgers_leaves(kind text, ids bigint[]) RETURNS TABLE (id bigint, leaf bytea)
LANGUAGE sql STABLE AS $$
    SELECT t.id, sha256('\x00'::bytea || convert_to(t.body, 'UTF8'))
    FROM ledgers_texts(kind, ids) AS t ORDER BY t.id
$$;
