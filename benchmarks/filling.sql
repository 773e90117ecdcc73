-- The statements of filling.py: named by the comment above each, in the order of their use.

-- ways: what each channel declares, and moments before now
CREATE TEMPORARY TABLE ways (nth int, id bigint, contract jsonb);

-- moments
CREATE FUNCTION pg_temp.at(rows_before_now bigint, span_s float8) RETURNS timestamptz
LANGUAGE sql AS $$ SELECT now() - rows_before_now * span_s * interval '1 second' $$;

-- runs
INSERT INTO ledgers_run (id, run_id, agent, status, started_at, finished_at, duplicate_triggers,
    error)
SELECT m, 'R-' || m, 'agent-' || m %% 12, CASE WHEN m %% 97 = 0 THEN 'failed' ELSE 'completed' END,
    at, at + interval '2 seconds', 0, ''
FROM generate_series(1, %(messages)s) m, pg_temp.at(%(messages)s - m, %(span)s) at;

-- steps
INSERT INTO ledgers_step (id, run_id, step_id, version, input_hash, status, result, result_ref,
    result_hash, announces, fence, starts, deaths, error, started_at, finished_at)
SELECT m, m, 'write', 1, md5(m::text), 'completed', '{"done": true}', '', md5(m::text), '[]', m,
    1, 0, '', at, at + interval '1 second'
FROM generate_series(1, %(messages)s) m, pg_temp.at(%(messages)s - m, %(span)s) at;

-- messages
INSERT INTO ledgers_message (id, step_id, name, channel_id, payload, payload_hash, contract, parts,
    destinations, created_at)
SELECT m, m, 'digest', w.id, %(payload)s, md5(m::text), w.contract, 1, 10, at
FROM generate_series(1, %(messages)s) m
CROSS JOIN LATERAL pg_temp.at(%(messages)s - m, %(span)s) at
JOIN ways w ON w.nth = CASE WHEN m < %(messages)s / 20 AND m %% 50 = 0 THEN 6
    ELSE (m / (%(messages)s / 125 + 1) + m) %% 6 END;

-- deliveries
INSERT INTO ledgers_delivery (id, delivery_id, message_id, destination, part, generation, status,
    cause, body_hash, idempotency_key, recognizer, key_first_used_at, provider_message_id,
    attempt_count, next_attempt_at, created_at, withdrawn_at, unknown_since, acknowledged_at,
    finished_at, decision, decided_at, fence, row_version)
SELECT n, gen_random_uuid(), m.id, {to}, 1, 1, s.status,
    CASE s.status WHEN 'delivered' THEN 'proven-accepted: attempt 1' WHEN 'pending' THEN 'due'
        WHEN 'unknown' THEN 'blocked: no answer' ELSE s.status || ': refused for good' END,
    md5(n::text), 'key' || md5(n::text), 'dlv' || substr(md5('r' || n), 1, 21),
    CASE WHEN s.tried THEN t.at END,
    CASE WHEN s.status = 'delivered' THEN 'prov-' || n ELSE '' END, s.tried::int,
    CASE WHEN s.status = 'pending' THEN t.at END, t.at,
    CASE WHEN s.status = 'cancelled' THEN t.at END,
    CASE WHEN s.status = 'unknown' THEN t.at + interval '3 seconds' END,
    CASE WHEN s.status = 'delivered' THEN t.at + interval '2 seconds' END,
    CASE WHEN s.status IN ('delivered', 'failed', 'expired', 'cancelled')
        THEN t.at + interval '2 seconds' END,
    CASE WHEN n %% 1000 = 5 AND s.status = 'expired' THEN 'leave' ELSE '' END,
    CASE WHEN n %% 1000 = 5 AND s.status = 'expired' THEN t.at + interval '1 hour' END, n, 3
FROM generate_series(%(first)s::bigint, %(last)s) n
JOIN ledgers_message m ON m.id = (n - 1) / 10 + 1
JOIN ways w ON w.id = m.channel_id
CROSS JOIN LATERAL (
    SELECT pg_temp.at(%(rows)s - n, %(span)s) AS at) t
CROSS JOIN LATERAL (SELECT CASE
    WHEN n > %(on_wire)s THEN 'submitting' WHEN n > %(owed)s THEN 'pending'
    WHEN n %% %(period)s < %(burst)s THEN 'unknown' WHEN n %% 1000 < 5 THEN 'failed'
    WHEN n %% 1000 < 7 THEN 'expired' WHEN n %% 1000 < 9 THEN 'cancelled' ELSE 'delivered' END)
    k (status)
CROSS JOIN LATERAL (
    SELECT k.status, k.status IN ('submitting', 'unknown', 'failed', 'delivered') AS tried) s;

-- broadcast run: the run with 10,000 destinations stands behind all others, and is from yesterday
INSERT INTO ledgers_run (id, run_id, agent, status, started_at, finished_at, duplicate_triggers,
    error) SELECT max(id) + 1, 'R-broadcast', 'agent-0', 'completed', clock_timestamp() - interval
    '1 day', clock_timestamp() - interval '1 day', 0, '' FROM ledgers_run;

-- broadcast step
INSERT INTO ledgers_step (id, run_id, step_id, version, input_hash, status, result, result_ref,
    result_hash, announces, fence, starts, deaths, error, started_at, finished_at) SELECT r.id,
    r.id, 'write', 1, '-', 'completed', 'null', '', '-', '[]', 1, 1, 0, '', started_at, finished_at
    FROM ledgers_run r WHERE run_id = 'R-broadcast';

-- broadcast message
INSERT INTO ledgers_message (id, step_id, name, channel_id, payload, payload_hash, contract, parts,
    destinations, created_at)
SELECT s.id, s.id, 'broadcast', w.id, 'null', '-', w.contract, 1, %(count)s, s.started_at FROM
    ledgers_step s, ways w WHERE s.id = (SELECT max(id) FROM ledgers_step) AND w.nth = 0;

-- broadcast deliveries
INSERT INTO ledgers_delivery (id, delivery_id, message_id, destination, part, generation, status,
    cause, body_hash, idempotency_key, recognizer, key_first_used_at, provider_message_id,
    attempt_count, created_at, unknown_since, acknowledged_at, finished_at, decision, fence,
    row_version)
SELECT d.last + n, gen_random_uuid(), m.id, 'reader' || n || '@news.test', 1, 1, s.status,
    CASE s.status WHEN 'delivered' THEN 'proven-accepted: attempt 1' ELSE 'blocked: no answer' END,
    'h', 'key' || md5('b' || n), 'dlv' || substr(md5('q' || n), 1, 21), m.created_at, '', 1,
    m.created_at, CASE WHEN s.status = 'unknown' THEN m.created_at END,
    CASE WHEN s.status = 'delivered' THEN m.created_at END,
    CASE WHEN s.status = 'delivered' THEN m.created_at END, '', 1, 3
FROM (SELECT max(id) AS last FROM ledgers_delivery) d,
    (SELECT id, created_at FROM ledgers_message ORDER BY id DESC LIMIT 1) m,
    generate_series(1, %(count)s) n
CROSS JOIN LATERAL (
    SELECT CASE WHEN n %% 400 = 0 THEN 'unknown' ELSE 'delivered' END AS status) s;

-- generations: a few were sent again on somebody's word
INSERT INTO ledgers_delivery (id, delivery_id, message_id, destination, part, generation, status,
    cause, body_hash, idempotency_key, recognizer, key_first_used_at, provider_message_id,
    attempt_count, created_at, acknowledged_at, finished_at, decision, fence, row_version)
SELECT (SELECT max(id) FROM ledgers_delivery) + row_number() OVER (ORDER BY id), gen_random_uuid(),
    message_id, destination, 1, 2, 'delivered', 'proven-accepted: attempt 1', 'h',
    'key' || md5('g' || id), 'dlv' || substr(md5('g' || id), 1, 21), created_at, '', 1, created_at,
    finished_at, finished_at, '', 1, 3
FROM ledgers_delivery WHERE status = 'cancelled' AND id %% 5 = 2;

-- attempts: every fifth incident lost its worker: its attempts are open, and their leases over
INSERT INTO ledgers_attempt (delivery_id, number, opened_at, closed_at, worker, host, build, fence,
    idempotency_key, key_scope, body_hash, authority, deadline_s, lease_until, phase, bytes_written,
    outcome, permanent, replayed, late, provider_message_id, response, error)
SELECT d.id, 1, d.created_at, CASE WHEN a.outcome <> '' THEN d.created_at + interval '1 second' END,
    'host-1:4711:ab12cd', 'host-1', '1.0', d.fence, d.idempotency_key, 'endpoint', d.body_hash,
    %(authority)s, 10, d.created_at + interval '1 minute',
    CASE WHEN d.status = 'unknown'
        THEN (ARRAY['written', 'status', 'writing'])[d.id / 1000 %% 3 + 1] ELSE 'status' END,
    412, a.outcome, d.status = 'failed', false, false, d.provider_message_id, '{"ok": true}', ''
FROM ledgers_delivery d
CROSS JOIN LATERAL (SELECT CASE
    WHEN d.status = 'submitting' OR d.status = 'unknown' AND d.id / 1000 %% 5 = 0 THEN ''
    WHEN d.status = 'unknown' THEN 'ambiguous' WHEN d.status = 'failed' THEN 'refused'
    ELSE 'accepted' END AS outcome) a
WHERE d.id BETWEEN %(first)s AND %(last)s AND d.attempt_count > 0 ORDER BY d.id;

-- events
INSERT INTO ledgers_event (at, kind, run_id, delivery_id, attempt_id, from_status, to_status,
    row_version, rule, inputs, actor, detail)
SELECT d.created_at + (e.nth - 1) * interval '1 second', e.kind,
    CASE WHEN e.nth < 2 THEN d.message_id END, CASE WHEN e.nth > 0 THEN d.id END,
    CASE WHEN e.nth > 1 THEN a.id END, e.old, e.new, NULLIF(e.nth, 0), e.rule,
    CASE WHEN e.nth > 1 THEN %(inputs)s ELSE '' END,
    CASE WHEN e.nth < 2 THEN 'agent' ELSE 'host-1:4711:ab12cd' END, '{}'
FROM ledgers_delivery d LEFT JOIN ledgers_attempt a ON a.delivery_id = d.id
CROSS JOIN LATERAL (VALUES (0, 'complete', 'running', 'completed', ''),
    (1, 'record', '', 'pending', ''), (2, 'begin', 'pending', 'submitting', 'due'),
    (3, CASE d.status WHEN 'delivered' THEN 'accept' WHEN 'unknown' THEN 'suspect'
        WHEN 'failed' THEN 'fail' WHEN 'expired' THEN 'expire' ELSE 'cancel' END,
     CASE WHEN d.attempt_count > 0 THEN 'submitting' ELSE 'pending' END, d.status, 'decided')
) e (nth, kind, old, new, rule)
WHERE d.id BETWEEN %(first)s AND %(last)s AND (e.nth = 1
    OR e.nth = 0 AND d.id %% 10 = 1
    OR e.nth = 2 AND d.attempt_count > 0 OR e.nth = 3 AND d.status NOT IN ('pending', 'submitting'))
ORDER BY d.id, e.nth;

-- rest runs
SELECT setval(pg_get_serial_sequence('ledgers_run', 'id'), max(id)) FROM ledgers_run;

-- rest steps
SELECT setval(pg_get_serial_sequence('ledgers_step', 'id'), max(id)) FROM ledgers_step;

-- rest messages
SELECT setval(pg_get_serial_sequence('ledgers_message', 'id'), max(id)) FROM ledgers_message;

-- rest deliveries
SELECT setval(pg_get_serial_sequence('ledgers_delivery', 'id'), max(id)) FROM ledgers_delivery;

-- rest evidence
INSERT INTO ledgers_evidence (delivery_id, taken_at, created_at, method, verdict, searched, why,
    pages, provider_message_id, response, seen_by) SELECT id, unknown_since + interval '1 minute',
    unknown_since + interval '1 minute', 'surface_scan', CASE WHEN id %% 3 = 0 THEN 'absent' ELSE
    'inconclusive' END, 'the last hour', 'not all of it was seen', 1, '', '', 'host-1:4711:ab12cd'
    FROM ledgers_delivery WHERE status = 'unknown';

-- rest queue
INSERT INTO ledgers_outboxitem (delivery_id, channel_id, due_at, leased) SELECT d.id, m.channel_id,
    clock_timestamp() + interval '1 minute' * (d.id %% 30 - 3), d.status = 'submitting' FROM
    ledgers_delivery d JOIN ledgers_message m ON m.id = d.message_id WHERE d.status IN ('pending',
    'submitting');

-- rest workers
INSERT INTO delivery_worker (name, host, pid, build, mode, started_at, beat_at, stopped_at,
    clock_offset_s, claimed, settled) SELECT 'host-1:' || n || ':x', 'host-1', n, '1.0', 'resident',
    clock_timestamp() - n * interval '9 hours', clock_timestamp() - (n - 1) * interval '9 hours',
    CASE WHEN n > 3 THEN clock_timestamp() - (n - 1) * interval '9 hours' END, 0.01, 100, 100 FROM
    generate_series(1, 60) n;

-- rest assignments
INSERT INTO reviews_assignment (delivery_id, person, at) SELECT id, (%(people)s::text[])[id %% 5 +
    1], clock_timestamp() FROM ledgers_delivery WHERE status = 'unknown' AND id %% 3 = 0;

-- rest taken
INSERT INTO ledgers_event (at, kind, delivery_id, from_status, to_status, rule, inputs, actor,
    detail) SELECT at, 'assign', delivery_id, '', '', '', '', person, '{}' FROM reviews_assignment
    ORDER BY delivery_id;

-- rest decisions: expired rows that are left, twenty per decision
INSERT INTO reviews_decision (id, kind, stage, gate, about, reason, ticket, note, link,
    requested_by, approved_by, answer, drafted_at, requested_at, expires_at, executed_at) SELECT g,
    'leave', 'executed', 'one', '', 'nobody waits for it any more', '', '', '',
    (%(people)s::text[])[g %% 5 + 1], '', '', at, at, at + interval '1 hour', at FROM (SELECT
    (row_number() OVER (ORDER BY id) - 1) / 20 + 1 AS g, min(decided_at) OVER () AS at FROM
    ledgers_delivery WHERE decision = 'leave') d GROUP BY g, at;

-- rest decided
INSERT INTO reviews_decidedrow (decision_id, delivery_id, row_version, status, evidence,
    decision_before, withdrawn_before, result, why) SELECT (row_number() OVER (ORDER BY id) - 1) /
    20 + 1, id, 3, 'expired', '[]', '', false, 'done', '' FROM ledgers_delivery WHERE decision =
    'leave';

-- rest requests: twelve wait for a second person
INSERT INTO reviews_decision (id, kind, stage, gate, about, reason, ticket, note, link,
    requested_by, approved_by, answer, drafted_at, requested_at, expires_at) SELECT (SELECT
    COALESCE(max(id), 0) FROM reviews_decision) + n, 'send_otherwise', 'requested', 'two', '',
    'the customer asks for it', '', 'not seen in the archive', '', 'ann', '', '', clock_timestamp(),
    clock_timestamp(), clock_timestamp() + interval '1 day' FROM generate_series(1, 12) n;

-- rest requested
INSERT INTO reviews_decidedrow (decision_id, delivery_id, row_version, status, evidence,
    decision_before, withdrawn_before, result, why) SELECT c.id, d.id, 3, 'unknown', '[]', '',
    false, '', '' FROM reviews_decision c JOIN LATERAL (SELECT id FROM ledgers_delivery WHERE status
    = 'unknown' ORDER BY id OFFSET c.id %% 12 * 3 LIMIT 3) d ON true WHERE c.stage = 'requested';

-- rest sequence
SELECT setval(pg_get_serial_sequence('reviews_decision', 'id'), max(id)) FROM reviews_decision;
