"""Read what one look needs: a few statements, each bounded, all on the database's clock.

whole       the installation, and what is unknown, overdue or refused, per channel
flow        per channel: what waits, what holds it, what is stuck, and the last success
ended       per channel: what failed, expired or is disputed, and nobody has decided about
probes      per channel that asked for them: the last one, and since when none was seen
reports     per channel: what its provider accepted and never reported
workers     process starts, and what each left in doubt
ledgers     what the two ledgers and the queue owe each other
cluster     django-q2's own tables, where a q cluster is used
origin      whether a restore holds everything
elsewhere   other databases that agents and workers of this host use
"""

from dataclasses import replace

from delivery.watch.figures import Figures
from delivery.watch.reading import (
    cluster,
    elsewhere,
    ended,
    flow,
    ledgers,
    origin,
    probes,
    reports,
    whole,
    workers,
)


def read_figures() -> Figures:
    """How things stand now.

    Raises:
        django.db.Error: the database does not answer, or is not migrated.
        LookupError: it holds no installation.
    """
    figures, channels = whole.read()
    for more in (flow.read(), ended.read(), reports.read(), probes.read()):
        channels = {pk: replace(one, **more.get(pk, {})) for pk, one in channels.items()}
    return replace(
        figures,
        channels=tuple(sorted(channels.values(), key=lambda one: one.slug)),
        workers=workers.read(),
        cluster=cluster.read(),
        elsewhere=elsewhere.read(),
        origin=origin.read(),
        **ledgers.read(),
    )
