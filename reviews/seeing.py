"""Deliveries as decisions see them, read with a handful of statements however many they are."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db import connection

from delivery.history import Case, read
from delivery.ways import Ways
from reviews.judged import Conduct, Seen
from reviews.kinds import Kind


def conduct() -> Conduct:
    """This installation's limits."""
    return Conduct(
        approvers=settings.COUNTERFOIL_APPROVERS,
        undo_s=settings.COUNTERFOIL_UNDO_S,
        evidence_s=settings.COUNTERFOIL_EVIDENCE_S,
    )


def see(ids: Iterable[int], ways: Ways | None = None, *, but: int = 0) -> dict[int, Seen]:
    """What a decision may look at, by the deliveries' ids.

    Args:
        ids: the deliveries.
        ways: the channels, as far as they are remembered.
        but: the decision whose own request does not stand in its way.
    """
    wanted = sorted(set(ids))
    cases = read(wanted, ways or Ways())
    more = _more(wanted, but)
    return {case.id: seen_of(case, more[case.id]) for case in cases}


def seen_of(case: Case, more: dict[str, Any]) -> Seen:
    return Seen(
        id=case.id,
        name=str(case.delivery_id),
        version=case.version,
        status=case.status,
        destination=case.destination,
        facts=case.facts,
        now=case.now,
        newest=more["newest"],
        erased=more["erased"],
        leased_until=more["leased_until"],
        waiting=_waiting(more),
    )


def _waiting(more: dict[str, Any]) -> str:
    if more["kind"] is None:
        return ""
    return f"{more['requested_by']} has asked to {Kind(more['kind']).label}"


def _more(ids: list[int], but: int) -> dict[int, dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(_MORE, [but, ids])
        names = [column.name for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return {row["id"]: row for row in rows}


_MORE = """
SELECT d.id, m.payload IS NULL AS erased, asked.kind, asked.requested_by,
    (SELECT max(n.generation) FROM ledgers_delivery n WHERE n.message_id = d.message_id
        AND n.destination = d.destination AND n.part = d.part) AS newest,
    CASE WHEN o.leased AND o.due_at > clock_timestamp() THEN o.due_at END AS leased_until
FROM ledgers_delivery d
JOIN ledgers_message m ON m.id = d.message_id
LEFT JOIN ledgers_outboxitem o ON o.delivery_id = d.id
LEFT JOIN LATERAL (
    SELECT c.kind, c.requested_by FROM reviews_decision c
    JOIN reviews_decidedrow r ON r.decision_id = c.id
    WHERE r.delivery_id = d.id AND c.stage = 'requested' AND c.id <> %s
      AND c.expires_at > clock_timestamp()
    ORDER BY c.id LIMIT 1
) AS asked ON true
WHERE d.id = ANY(%s)"""
