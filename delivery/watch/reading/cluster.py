"""django-q2's own tables: is its clock running, and does anybody take what it was handed?

They decide nothing about a delivery. A cluster that has gone deaf is alive as a process.
"""

from django.conf import settings
from django.db import connection

from delivery.watch.figures import Cluster, Some

# A task's lock is the moment when it was handed over; taking it moves the lock.
TAKEN_WITHIN_S = 60
_CLUSTER = f"""
SELECT (SELECT min(next_run) FROM django_q_schedule
        WHERE func = 'delivery.tasks.work_shift' AND repeats <> 0),
    count(*), min(lock), max(lock) FROM django_q_ormq
WHERE lock < (SELECT clock_timestamp()) - interval '{TAKEN_WITHIN_S} seconds'"""


def read() -> Cluster | None:
    """How the cluster stands; None where this installation uses none."""
    if not settings.COUNTERFOIL_QCLUSTER:
        return None
    with connection.cursor() as cursor:
        cursor.execute(_CLUSTER)
        next_run, *waiting = cursor.fetchone()
    return Cluster(next_run, Some(*waiting))
