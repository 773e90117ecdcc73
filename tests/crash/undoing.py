"""The stretch "undo": a second generation is taken back before it is sent, or it is too late."""

from dataclasses import dataclass

from delivery.crashlab.processes import Child
from delivery.crashlab.scene import Scene
from ledgers.models import Delivery, Event
from ledgers.states import DeliveryStatus
from reviews.kinds import Kind, Stage
from reviews.records import DecidedRow, Decision
from tests.crash.deciders import QUICKER, decisions_about
from tests.crash.deciding import BATCH, unknown_and_people
from tests.crash.survey import Stretch, Survey, recover
from tests.crash.track import free_idle_transactions

UNDO = Stretch(
    "undo-otherwise",
    "tests.crash.deciders:walk_undo",
    unknown_and_people,
    {"kind": Kind.SEND_OTHERWISE.value},
    BATCH,
)
AGAIN = "tests.crash.deciders:undo_again"


@dataclass(slots=True)
class Undoing(Survey):
    """One undo in one mode. `quicker`: while it sleeps another person undoes it, or time is up."""

    quicker: bool = True

    def _overtake(self, scene: Scene, child: Child) -> None:
        child.wait_stopped()
        free_idle_transactions()
        if self.quicker:
            recover(scene, AGAIN, **self.stretch.more, name=QUICKER)
        else:
            recover(scene)
        child.resume()

    def _recover(self, scene: Scene) -> bool:
        return recover(scene, AGAIN, **self.stretch.more)

    def _check(self, name: str, child: Child, scene: Scene) -> None:
        Survey._check(self, name, child, scene)
        self.found.broken += [f"{name}, at once: {claim}" for claim in _claims(scene)]

    def _count(self, name: str, scene: Scene) -> None:
        Survey._count(self, name, scene)
        (one,) = decisions_about(scene.run_id)
        claims = _claims(scene)
        if self.quicker and one.stage != Stage.UNDONE:
            claims.append("nobody was late, and it is not undone")
        if any(row.status == DeliveryStatus.PENDING for row in scene.deliveries):
            claims.append("it is neither taken back nor sent")
        self.found.broken += [f"{name}, at last: {claim}" for claim in claims]


def _claims(scene: Scene) -> list[str]:
    """What is half taken back, or was sent although it was taken back."""
    (one,) = decisions_about(scene.run_id)
    rows = scene.deliveries
    first = [row for row in rows if row.generation == 1]
    second = [row for row in rows if row.generation == 2]
    undone = one.stage == Stage.UNDONE
    told = Event.objects.filter(delivery__in=rows, kind="decision_undo").count()
    return [
        f"decision {one.pk} ({one.stage}): {claim}"
        for wrong, claim in (
            (one.stage not in {Stage.EXECUTED, Stage.UNDONE}, "its stage"),
            (len(second) != len(scene.to), f"{len(second)} of generation 2"),
            (told != undone * len(scene.to), f"{told} undos in the trail"),
            (_results(one) != {"undone" if undone else "done"}, f"its rows say {_results(one)}"),
            (_states(second, undone=undone) != {True}, "what became of generation 2"),
            ({_freed(row) for row in first} != {undone}, "what became of generation 1"),
        )
        if wrong
    ]


def _results(one: Decision) -> set[str]:
    return set(DecidedRow.objects.filter(decision=one).values_list("result", flat=True))


def _states(second: list[Delivery], *, undone: bool) -> set[bool]:
    """Cancelled and never tried exactly where it was undone."""
    if undone:
        return {row.status == DeliveryStatus.CANCELLED and not row.attempt_count for row in second}
    return {row.status in {DeliveryStatus.PENDING, DeliveryStatus.DELIVERED} for row in second}


def _freed(row: Delivery) -> bool:
    """The first generation may go its own way again."""
    return row.withdrawn_at is None
