"""The stretch "decide": people decide about what is unknown, and a worker does what follows."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import QuerySet

from delivery.crashlab.processes import Child
from delivery.crashlab.scene import Scene
from ledgers.models import Delivery, Event, Evidence
from ledgers.states import DeliveryStatus
from reviews.kinds import Gate, Kind, Stage
from reviews.records import DecidedRow, Decision
from tests.crash.deciders import AGREES, ASKS, QUICKER, decisions_about
from tests.crash.survey import Stretch, Survey, make_unknown, recover
from tests.crash.track import free_idle_transactions
from tests.reviews.people import account

ROLES = {ASKS: ("triager",), AGREES: ("approver",), QUICKER: ("triager", "approver")}

BATCH = 8  # scenes that are prepared at once


def unknown_and_people(scenes: Sequence[Scene]) -> None:
    """What is unknown and rests, and people who may decide about it."""
    for name, roles in ROLES.items():
        if not User.objects.filter(username=name).exists():
            account(name, *roles)
    make_unknown(scenes)


def _deciding(name: str, kind: Kind) -> Stretch:
    task = "tests.crash.deciders:walk_decision"
    return Stretch(f"decide-{name}", task, unknown_and_people, {"kind": kind.value}, BATCH)


ARRIVED = _deciding("arrived", Kind.ARRIVED)
LEAVE = _deciding("leave", Kind.LEAVE)
OTHERWISE = _deciding("otherwise", Kind.SEND_OTHERWISE)


@dataclass(slots=True)
class Deciding(Survey):
    """One decision in one mode. `quicker`: while it sleeps another person decides about it too."""

    quicker: bool = True

    @property
    def _kind(self) -> Kind:
        return Kind(self.stretch.more["kind"])

    def _overtake(self, scene: Scene, child: Child) -> None:
        """It sleeps, another person decides or not, a worker works, and it goes on."""
        child.wait_stopped()
        free_idle_transactions()
        if self.quicker:
            self._people(scene, "decide_first")
        else:
            recover(scene)
        child.resume()

    def _recover(self, scene: Scene) -> bool:
        """The people do it again, and a worker works."""
        return self._people(scene, "decide_again")

    def _people(self, scene: Scene, what: str) -> bool:
        return recover(scene, f"tests.crash.deciders:{what}", **self.stretch.more)

    def _check(self, name: str, child: Child, scene: Scene) -> None:
        Survey._check(self, name, child, scene)
        self.found.broken += [f"{name}, at once: {claim}" for claim in self._claims(scene)]

    def _count(self, name: str, scene: Scene) -> None:
        Survey._count(self, name, scene)
        claims = [*self._claims(scene), *self._unfinished(scene)]
        self.found.broken += [f"{name}, at last: {claim}" for claim in claims]

    def _claims(self, scene: Scene) -> list[str]:
        """What is half written, or was done without the people who must agree to it."""
        decisions = decisions_about(scene.run_id)
        executed = [one for one in decisions if one.stage == Stage.EXECUTED]
        claims = [f"{len(executed)} decisions carried out"] if len(executed) > 1 else []
        asked = [one.pk for one in decisions if one.stage != Stage.DRAFT]
        two = [one.pk for one in executed if one.gate == Gate.TWO]
        # What is void may have been agreed to before.
        void = [one.pk for one in decisions if one.stage == Stage.VOID]
        agreed = _events(scene, "decision_approve").exclude(detail__decision__in=void)
        requests = _events(scene, "decision_request").count()
        claims += [
            f"{count} {what} of {decided} decisions"
            for what, count, decided in (
                ("requests", requests, len(asked)),
                ("approvals", agreed.count(), len(two)),
                *((what, count, len(executed)) for what, count in self._written(scene).items()),
            )
            if count != len(scene.to) * decided
        ]
        if self._kind == Kind.ARRIVED:
            seen = Evidence.objects.filter(delivery__in=scene.deliveries, method="operator").count()
            if seen != len(scene.to) * len(executed):
                claims.append(f"{seen} sightings of {len(executed)} decisions")
        return claims + [claim for one in decisions for claim in self._of_one(one, scene)]

    def _written(self, scene: Scene) -> dict[str, int]:
        """How often each thing that this decision writes is there."""
        rows = scene.deliveries
        first = [row for row in rows if row.generation == 1]
        found = {
            "delivered": (
                Kind.ARRIVED,
                sum(row.status == DeliveryStatus.DELIVERED for row in first),
            ),
            "left": (Kind.LEAVE, sum(row.decision == "leave" for row in first)),
            "rulings": (Kind.LEAVE, _events(scene, "decide").count()),
            "generations": (Kind.SEND_OTHERWISE, len(rows) - len(first)),
            "withdrawn": (
                Kind.SEND_OTHERWISE,
                sum(row.withdrawn_at is not None for row in first),
            ),
        }
        return {what: count for what, (kind, count) in found.items() if kind == self._kind}

    def _of_one(self, one: Decision, scene: Scene) -> list[str]:
        """What is wrong with one decision."""
        rows = list(DecidedRow.objects.filter(decision=one))
        made = {row.made_id for row in rows} - {None}
        results = {row.result for row in rows}
        second = {row.pk for row in scene.deliveries if row.generation > 1}
        otherwise = self._kind == Kind.SEND_OTHERWISE
        done = one.stage == Stage.EXECUTED
        people = one.gate == Gate.TWO and one.approved_by not in {"", one.requested_by}
        return [
            f"decision {one.pk} ({one.stage}): {claim}"
            for wrong, claim in (
                (done != (results == {"done"}), f"its rows say {results}"),
                (len(rows) != len(scene.to), f"is about {len(rows)}"),
                (done and made != second, f"made {made}, there are {second}"),
                (not done and made, f"made {made}"),
                (done and otherwise and not people, "nobody agreed"),
            )
            if wrong
        ]

    def _unfinished(self, scene: Scene) -> list[str]:
        """What the repeated decision and the worker must have come to."""
        rows: list[Delivery] = scene.deliveries
        executed = [d for d in decisions_about(scene.run_id) if d.stage == Stage.EXECUTED]
        first = [row.attempt_count for row in rows if row.generation == 1]
        second = {str(row.status) for row in rows if row.generation == 2}
        return [
            claim
            for wrong, claim in (
                (len(executed) != 1, f"{len(executed)} decisions carried out in the end"),
                (set(first) != {1}, f"generation 1 has {first} attempts"),
                (second - {"delivered"}, f"generation 2 is {second}"),
            )
            if wrong
        ]


def _events(scene: Scene, kind: str) -> QuerySet[Event]:
    return Event.objects.filter(delivery__in=scene.deliveries, kind=kind)
