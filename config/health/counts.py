"""Numbers by kind, each from as many rows as one look may read."""

from collections.abc import Iterator

from django.db import connection
from prometheus_client.core import GaugeMetricFamily

READ = 10_000
_HOUR = "(SELECT clock_timestamp()) - interval '1 hour'"

_LEASES = """
SELECT CASE d.status WHEN 'submitting' THEN 'after_submit' ELSE 'before_submit' END, count(*)
FROM ledgers_outboxitem o JOIN ledgers_delivery d ON d.id = o.delivery_id
WHERE o.leased AND o.due_at < (SELECT clock_timestamp()) GROUP BY 1"""
_LATE = f"""
SELECT 'late', count(*) FROM (
    SELECT late, closed_at FROM ledgers_attempt ORDER BY id DESC LIMIT {READ}) AS latest
WHERE late AND closed_at > {_HOUR}"""
_LOOKS = f"""
SELECT verdict, count(*) FROM (
    SELECT verdict, created_at FROM ledgers_evidence ORDER BY id DESC LIMIT {READ}) AS latest
WHERE created_at > {_HOUR} GROUP BY verdict"""
_ENDS = f"""
SELECT to_status, count(*) FROM (
    SELECT to_status FROM ledgers_event WHERE at > {_HOUR} AND from_status <> to_status
        AND to_status IN ('delivered', 'unknown', 'failed', 'expired', 'cancelled')
    ORDER BY at DESC LIMIT {READ}) AS ends GROUP BY to_status"""
_DECISIONS = f"""
SELECT kind || ':' || stage, count(*) FROM (
    SELECT kind, stage FROM reviews_decision ORDER BY id DESC LIMIT {READ}) AS latest
WHERE kind <> '' GROUP BY kind, stage"""
_RESULTS = f"""
SELECT result, count(*) FROM (
    SELECT result FROM reviews_decidedrow ORDER BY id DESC LIMIT {READ}) AS latest
WHERE result <> '' GROUP BY result"""

FAMILIES = (
    ("leases_expired", "Leases that are over, by whether it was being submitted.", "when", _LEASES),
    ("fence_rejections_last_hour", "Answers that came after the lease was lost.", "kind", _LATE),
    ("look_ups_last_hour", "Findings of searches and reports.", "verdict", _LOOKS),
    ("became_last_hour", "What deliveries became.", "status", _ENDS),
    ("decisions", "The latest decisions of people, as kind:stage.", "kind", _DECISIONS),
    ("decided_rows", "What became of the latest rows of decisions.", "result", _RESULTS),
)


def collect() -> Iterator[GaugeMetricFamily]:
    """One family per statement."""
    with connection.cursor() as cursor:
        for name, help_text, label, statement in FAMILIES:
            family = GaugeMetricFamily(f"counterfoil_{name}", help_text, labels=[label])
            cursor.execute(statement)
            for value, number in cursor.fetchall():
                family.add_metric([value], number)
            yield family
