"""Who works, what they have taken, and what is silent: computed when it is asked for."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from delivery.watch import deadman
from delivery.watch.checks import BY_NAME, Check, Finding, State, findings
from delivery.watch.checks.rhythm import rhythms
from delivery.watch.figures import Figures
from delivery.watch.message import place
from delivery.watch.reading import read_figures
from reviews import vitals
from reviews.alarming import alarms
from reviews.liveness import signs
from reviews.pages.registry import Menu, page
from reviews.pages.shown import fragment, show
from reviews.remembered import SHORT_S, remembered


@dataclass(frozen=True, slots=True)
class Seen:
    """One finding with what a person has to know of its check, and where it leads."""

    finding: Finding
    check: Check
    href: str


@page("liveness", "liveness/", menu=Menu("Now", "Liveness", 40))
def liveness(request: HttpRequest) -> HttpResponseBase:
    """The whole page, with what the fragment shows in it: it works without JavaScript."""
    return show(request, "console/liveness.html", "Liveness", _context())


@page("liveness_live", "liveness/live/", kind="fragment")
def liveness_live(request: HttpRequest) -> HttpResponseBase:
    """What changes."""
    return fragment(request, "console/liveness_live.html", _context())


def _context() -> dict[str, Any]:
    context: dict[str, Any] = remembered("liveness", SHORT_S, _look)
    return context


def _look() -> dict[str, Any]:
    figures = read_figures()
    found = findings(figures)
    doubt = {one.name: one.in_doubt for one in figures.workers}
    wrong = [one for one in found if one.state is not State.OK]
    return {
        "wrong": [_seen(one) for one in sorted(wrong, key=lambda f: -f.state.badness)],
        "calm": _calm(found),
        "workers": [(one, doubt.get(one.worker.name, 0)) for one in signs()],
        "flow": vitals.flow(),
        "oldest": vitals.oldest(),
        "missing": vitals.missing(),
        "crash_loops": vitals.crash_loops(),
        "rhythms": rhythms(figures.workers, figures.now),
        "cluster": figures.cluster,
        "elsewhere": figures.elsewhere,
        "cluster_late": _is_past(figures),
        "alarms": alarms(),
        "deadman": deadman.seen(),
        "updated": figures.now,
    }


def _seen(one: Finding) -> Seen:
    check = BY_NAME[one.check]
    return Seen(one, check, place(check, one.channel))


def _calm(found: list[Finding]) -> list[tuple[Check, int]]:
    """Checks of which nothing is wrong, with how many channels each has looked at."""
    restless = {one.check for one in found if one.state is not State.OK}
    counted = {name: sum(one.check == name for one in found) for name in BY_NAME}
    return [(BY_NAME[n], c) for n, c in counted.items() if c and n not in restless]


def _is_past(figures: Figures) -> bool:
    next_run: datetime | None = figures.cluster.next_run if figures.cluster else None
    return next_run is not None and next_run < figures.now
