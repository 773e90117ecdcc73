"""The bundle of one run: both ledgers, its whole record, and what proves that none was changed.

That it was made is an event of the run, which holds the hash of both ledgers as they stood, and is
sealed with the rest. So every word of the bundle hangs on the newest seal. Contents are left out;
their hashes are in it. `docs/prove.md` describes the format.
"""

import json
from typing import Any

from django.db import connection

from ledgers import seals
from ledgers.canonical import sha256
from ledgers.errors import LedgerError, NotFoundError
from ledgers.finding import purged_run
from ledgers.models import Event, Run
from ledgers.proofs import chain, records
from ledgers.trail import log

FORMAT = "counterfoil-bundle/1"


class NotSealedError(LedgerError):
    """A row of the run is in no seal: it was written while the guards were lifted."""


def prove(run_id: str, actor: str) -> str:
    """The bundle of a run, as the text of a file. Everything that waits is sealed for it.

    Args:
        run_id: the agent's name of the run.
        actor: who asks, for the trail.

    Raises:
        NotFoundError: there is no such run.
        NotSealedError: naming the row.
    """
    run = Run.objects.filter(run_id=run_id).first()
    if run is None:
        raise NotFoundError(purged_run(run_id) or f"run_id: there is no run {run_id!r}.")
    text = _ledgers(run)
    log("prove", actor, run=run, detail={"ledgers_sha256": sha256(text)})
    seals.seal_all()
    rows = _records(run, json.loads(text)["records"])
    value = {
        "format": FORMAT,
        "ledgers": text,
        "records": rows,
        "seals": chain(min(row["seal"] for row in rows)),
    }
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _ledgers(run: Run) -> str:
    """Both ledgers as one statement sees them, in PostgreSQL's own spelling of jsonb."""
    with connection.cursor() as cursor:
        cursor.execute(_LEDGERS, {"run": run.pk})
        return str(cursor.fetchone()[0])


def _records(run: Run, ids: dict[str, list[int]]) -> list[dict[str, Any]]:
    made = Event.objects.filter(run=run, kind="prove").latest("pk").pk
    wanted = ids | {"event": [*ids["event"], made]}
    rows = [row for kind in seals.KINDS for row in records(kind, wanted[kind])]
    for row in rows:
        if row["seal"] is None:
            raise NotSealedError(
                f"{row['kind']} {row['id']} is in no seal. See manage.py verify_ledgers."
            )
    return rows


_LEDGERS = """
WITH mine AS (
    SELECT * FROM ledgers_run WHERE id = %(run)s
), s AS (
    SELECT * FROM ledgers_step WHERE run_id = %(run)s
), m AS (
    SELECT m.*, s.step_id AS step, s.version, c.slug FROM ledgers_message m
    JOIN s ON s.id = m.step_id JOIN ledgers_channel c ON c.id = m.channel_id
), d AS (
    SELECT d.*, m.step, m.version, m.name, m.slug FROM ledgers_delivery d
    JOIN m ON m.id = d.message_id
)
SELECT jsonb_build_object(
    'made_at', clock_timestamp() AT TIME ZONE 'UTC',
    'run', (SELECT to_jsonb(mine) - '{id}'::text[] FROM mine),
    'steps', (SELECT COALESCE(jsonb_agg(to_jsonb(s) - '{id,run_id,result,holder}'::text[]
        ORDER BY s.id), '[]') FROM s),
    'messages', (SELECT COALESCE(jsonb_agg((to_jsonb(m) - '{id,step_id,channel_id,payload,slug}'
        ::text[]) || jsonb_build_object('channel', m.slug, 'erased', m.payload IS NULL)
        ORDER BY m.id), '[]') FROM m),
    'deliveries', (SELECT COALESCE(jsonb_agg((to_jsonb(d) - '{id,message_id,name,slug}'::text[])
        || jsonb_build_object('message', d.name, 'channel', d.slug) ORDER BY d.id), '[]') FROM d),
    'records', jsonb_build_object(
        'event', (SELECT COALESCE(jsonb_agg(e.id ORDER BY e.id), '[]') FROM ledgers_event e
            WHERE e.id IN (SELECT id FROM ledgers_event WHERE run_id = %(run)s
                UNION SELECT id FROM ledgers_event WHERE delivery_id IN (SELECT id FROM d)
                UNION SELECT id FROM ledgers_event WHERE kind = 'erase_payload'
                    AND step_id IN (SELECT id FROM s))),
        'attempt', (SELECT COALESCE(jsonb_agg(a.id ORDER BY a.id), '[]') FROM ledgers_attempt a
            WHERE a.delivery_id IN (SELECT id FROM d) AND a.closed_at IS NOT NULL),
        'evidence', (SELECT COALESCE(jsonb_agg(v.id ORDER BY v.id), '[]') FROM ledgers_evidence v
            WHERE v.delivery_id IN (SELECT id FROM d))),
    'open_attempts', (SELECT COALESCE(jsonb_agg(jsonb_build_object('delivery', d.delivery_id,
        'number', a.number, 'opened_at', a.opened_at) ORDER BY a.id), '[]')
        FROM ledgers_attempt a JOIN d ON d.id = a.delivery_id WHERE a.closed_at IS NULL)
)::text"""
