"""`/metrics` for Prometheus: computed from the tables when asked, so that any process may answer.

Nothing is counted in memory: several processes would each tell a part, and a restart would lose it.
What is "in the last hour" is a gauge for that reason.
"""

from collections.abc import Callable, Iterator

from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from config.health import counts
from config.health.guard import TEXT
from delivery.silence import SILENT_S
from delivery.watch.bounded import bounded
from delivery.watch.checks import findings
from delivery.watch.checks.finding import age_s
from delivery.watch.figures import ChannelFigures, Figures
from delivery.watch.reading import read_figures

LIMIT_S = 8.0
Number = Callable[[ChannelFigures], float | None]

PER_CHANNEL: tuple[tuple[str, str, Number], ...] = (
    ("unknown", "Deliveries that may have been accepted, undecided.", lambda c: c.unknown),
    ("overdue", "Deliveries due for longer than the channel's grace.", lambda c: c.overdue),
    ("windows_closing", "Unknown, and the key stops protecting within the hour.",
     lambda c: c.closing.number),
    ("stuck", "Deliveries under a lease that is over for longer than the grace.",
     lambda c: c.stuck.number),
    ("failed_undecided", "Failed in the last day, and nobody has decided.",
     lambda c: c.failed.number),
    ("expired_undecided", "Expired in the last day, and nobody has decided.",
     lambda c: c.expired.number),
    ("disputed", "Disputed in the last day.", lambda c: c.disputed.number),
)  # fmt: skip


def metrics(_: HttpRequest) -> HttpResponse:
    """Every number there is; 503 where the database does not answer in time."""
    try:
        text = bounded(LIMIT_S, _text, "metrics")
    except Exception as error:  # noqa: BLE001  Prometheus then says that the target is down
        why = f"no metrics: the database does not answer ({type(error).__name__})\n"
        return HttpResponse(why, content_type=TEXT, status=503)
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)


def _text() -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Tables())
    return generate_latest(registry)


class _Tables(Collector):
    """What the tables say at this moment."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        figures = read_figures()
        yield from _whole(figures)
        yield from _channels(figures)
        yield _checks(figures)
        yield from counts.collect()


def _whole(seen: Figures) -> Iterator[GaugeMetricFamily]:
    alive = [w for w in seen.workers if not w.stopped_at and age_s(seen.now, w.beat_at) <= SILENT_S]
    beat = seen.beat_at or seen.installed_at
    offset = max((abs(one.clock_offset_s) for one in alive), default=0.0)
    yield _gauge("heartbeat_age_seconds", "Since any worker's last sign.", age_s(seen.now, beat))
    yield _gauge("workers_alive", "Workers with a sign of life in the last 90 s.", len(alive))
    yield _gauge("clock_offset_seconds", "The worst of a living worker's clock.", offset)
    yield _gauge("due", "Queue items that are due now, leased ones left out.", seen.owed)
    yield _gauge("leased", "Deliveries under a lease that is not over.", seen.leased)
    yield _gauge("announced_missing", "Steps that owe a message.", seen.announced.number)
    yield _gauge("crash_loops", "Runs that a person has to resolve.", seen.crash_loops.number)
    orphans = seen.unqueued.number + seen.queued.number
    yield _gauge("orphans", "Deliveries about which queue and ledger disagree.", orphans)


def _channels(seen: Figures) -> Iterator[GaugeMetricFamily]:
    for name, help_text, number in PER_CHANNEL:
        yield _labelled(name, help_text, {one.slug: number(one) for one in seen.channels})
    quiet = {c.slug: _age(seen, c.last_success) for c in seen.channels}
    yield _labelled("seconds_since_success", "Since the channel's last delivery.", quiet)
    doubt = {c.slug: _age(seen, c.unknown_since) for c in seen.channels}
    yield _labelled("oldest_unknown_age_seconds", "Of the oldest unknown delivery.", doubt)
    owed = {c.slug: _age(seen, c.waiting_since) for c in seen.channels}
    yield _labelled("oldest_pending_age_seconds", "Of the oldest that a machine owes.", owed)


def _age(seen: Figures, since: object) -> float | None:
    """None where it never was: absent is not zero."""
    return age_s(seen.now, since) if since is not None else None  # type: ignore[arg-type]


def _checks(seen: Figures) -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        "counterfoil_check_state", "0 ok, 1 late, 2 red.", labels=["check", "channel"]
    )
    for one in findings(seen):
        family.add_metric([one.check, one.channel], one.state.badness)
    return family


def _gauge(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"counterfoil_{name}", help_text, value=value)


def _labelled(name: str, help_text: str, values: dict[str, float | None]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"counterfoil_{name}", help_text, labels=["channel"])
    for channel, value in values.items():
        if value is not None:
            family.add_metric([channel], value)
    return family
