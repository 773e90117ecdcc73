"""What people do in these tests: ask, agree, click twice, and open the page again."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from ledgers.models import Delivery
from reviews import decisions
from reviews.errors import NotAllowedError
from reviews.kinds import Kind, Stage
from reviews.people import Person, person_of
from reviews.records import Decision
from reviews.wishes import Wish
from tests.crash.tasks import recover
from tests.crash.track import walked

ASKS, AGREES, QUICKER = "alice", "bob", "carol"
UNDO_S = 100.0  # it outlasts one lease of a worker, and not two


def decisions_about(run_id: str) -> list[Decision]:
    """All decisions about the deliveries of a run, first to last."""
    about = Decision.objects.filter(rows__delivery__message__step__run__run_id=run_id)
    return list(about.distinct().order_by("pk"))


def walk_decision(
    folder: Path, *, mode: str, number: int, run: dict[str, Any], kind: str
) -> list[str]:
    """Ask and, where it takes two, agree, along a track; the names of the points it passed.

    The page was opened before the track begins: what others do meanwhile is not on it.
    """
    settings.COUNTERFOIL_UNDO_S = 0.0
    shown = _shown(run)
    with walked(folder, mode, number) as track:
        _page(run, kind, ASKS, shown)
    return track.passed


def decide_first(folder: Path, *, run: dict[str, Any], kind: str, outlive_s: float) -> bool:
    """Somebody else opens the page and is quicker, and a worker works; whether all came to rest."""
    settings.COUNTERFOIL_UNDO_S = 0.0
    if not _is_decided(run):
        _told(partial(_page_again, run, kind, QUICKER))
    return recover(folder, run=run, outlive_s=outlive_s)


def decide_again(folder: Path, *, run: dict[str, Any], kind: str, outlive_s: float) -> bool:
    """The same clicks once more, the page if nothing came of it, and a worker."""
    settings.COUNTERFOIL_UNDO_S = 0.0
    for one in decisions_about(run["run_id"]):
        _told(partial(decisions.request, _person(ASKS), _wish(run, kind), one.pk))
        _told(partial(decisions.approve, _person(AGREES), one.pk))
    if not _is_decided(run):
        _told(partial(_page_again, run, kind, ASKS))
    return recover(folder, run=run, outlive_s=outlive_s)


def walk_undo(folder: Path, *, mode: str, number: int, run: dict[str, Any], kind: str) -> list[str]:
    """Send again, which takes two; then take it back, along a track: the points it passed."""
    settings.COUNTERFOIL_UNDO_S = UNDO_S
    made = _page(run, kind, ASKS, _shown(run))
    with walked(folder, mode, number) as track:
        decisions.undo(_person(ASKS), made.pk)
    return track.passed


def undo_again(
    folder: Path, *, run: dict[str, Any], kind: str, outlive_s: float, name: str = ASKS
) -> bool:
    """The same click once more, or another person's, and a worker; whether all came to rest."""
    del kind
    for one in decisions_about(run["run_id"]):
        _told(partial(decisions.undo, _person(name), one.pk))
    return recover(folder, run=run, outlive_s=outlive_s)


def _is_decided(run: dict[str, Any]) -> bool:
    return any(one.stage == Stage.EXECUTED for one in decisions_about(run["run_id"]))


def _page_again(run: dict[str, Any], kind: str, name: str) -> Decision:
    """Agree to what waits there, or else decide."""
    for one in decisions_about(run["run_id"]):
        if one.stage == Stage.REQUESTED:
            return decisions.approve(_person(AGREES if name == ASKS else name), one.pk)
    return _page(run, kind, name, _shown(run))


def _shown(run: dict[str, Any]) -> list[Delivery]:
    rows = Delivery.objects.filter(message__step__run__run_id=run["run_id"], generation=1)
    return list(rows.order_by("pk"))


def _page(run: dict[str, Any], kind: str, name: str, shown: list[Delivery]) -> Decision:
    """Decide about what the page shows, with another person where it takes two."""
    asked = decisions.decide(_person(name), _wish(run, kind), shown)
    if asked.stage == Stage.REQUESTED:
        return decisions.approve(_person(AGREES), asked.pk, "I called them")
    return asked


def _wish(run: dict[str, Any], kind: str) -> Wish:
    count = str(len(run["message"]["to"]))
    return Wish(
        Kind(kind), reason="they wait for it", note="they say so", link="ticket 7", typed=count
    )


def _person(name: str) -> Person:
    return person_of(User.objects.get(username=name))


def _told(act: Callable[[], Decision]) -> str:
    """What somebody is told: the stage, or the refusal."""
    try:
        return str(act().stage)
    except NotAllowedError as error:
        return str(error)
