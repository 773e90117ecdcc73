"""A night on call, made as the product makes it: every status, an incident, a closing window, a
request that waits, a paused channel, and texts that are long or mean harm.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest import mock

from django.contrib.auth.models import User
from django.core.cache import cache

from delivery import agent, switches
from delivery.models import Worker
from delivery.simulator.client import Simulator
from ledgers.clock import database_now
from ledgers.models import Delivery
from reviews import decisions
from reviews.kinds import Kind
from reviews.people import person_of
from reviews.selecting import select
from reviews.wishes import Wish
from tests.commands.shell import typed
from tests.console.people import person
from tests.factories import deliveries, make_due, sweep
from tests.reviews import scenes

INCIDENT = 12  # deliveries that became unknown together
FULL_LIST = 60  # more than one page of any list shows
HOUR = timedelta(hours=1)
WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
MEAN = "<img src=x onerror=alert(1)><script>alert(2)</script>'\"`${7*7}{{7*7}} =1+1"
RIGHT_TO_LEFT = "مرحبا بالعالم، هذا نص طويل من اليمين إلى اليسار"
LONG_ROOM = "room:" + "a-room-with-a-very-long-name-" * 7
LONG_RUN = "nightly-" + "0123456789abcdef" * 10


@contextmanager
def played() -> Iterator[None]:
    """Play the night, with a recipient that misbehaves as told."""
    cache.clear()
    with Simulator.start() as recipient, mock.patch("delivery.breaker.OPEN_AFTER", 10_000):
        play(recipient)
        yield
    cache.clear()


def play(recipient: Simulator) -> None:
    """Everything that stands in the ledgers afterwards."""
    _people()
    _channels(recipient)
    _unknown(recipient)
    _settled(recipient)
    _asked(recipient)
    _decided()
    _workers()


def _people() -> None:
    for role in ("superuser", "triager", "approver", "viewer"):
        person(role)
    User.objects.create_user("a.person.with.a.rather.long.name@operations.example", is_staff=True)


def _channels(recipient: Simulator) -> None:
    blind = scenes.BLIND
    scenes.channel(recipient, slug="alerts", settings=blind, scopes_required=["chat:write"])
    scenes.channel(
        recipient, slug="keyed", settings={**blind, "dedupe_window_s": 900}, retry_schedule=[3600]
    )
    scenes.channel(recipient, slug="searched", look_up_schedule=[])
    paused = scenes.channel(recipient, slug="paused-by-hand", settings=blind)
    switches.pause(paused, f"the provider says so: {MEAN} {WORD}"[:300], "superuser")
    scenes.channel(recipient, slug="under-approval", settings=blind, requires_approval=True)


def work(run_id: str, channel: str, *to: str, content: Any = "hello", **fields: Any) -> None:
    """One run that completed one step, and owes one message to all of these."""
    with agent.run(run_id, agent="night-shift") as run:
        run.step("write").complete(
            {"done": True}, [agent.Message("digest", channel, list(to), content, **fields)]
        )


def _unknown(recipient: Simulator) -> None:
    """An incident of some, one whose window closes soon, and one with mean and long texts."""
    rooms = [f"room:team-{n:02}" for n in range(INCIDENT)]
    for room in (*rooms, LONG_ROOM, "room:keyed", "room:searched"):
        recipient.behave(room, "accept_and_reset")
    work("digest-2026-12-01", "alerts", *rooms)
    work(LONG_RUN, "alerts", LONG_ROOM, content=f"{MEAN}\n{WORD}\n{RIGHT_TO_LEFT}\n" * 20)
    work("digest-keyed", "keyed", "room:keyed", content=MEAN)
    work("digest-searched", "searched", "room:searched")
    sweep()


def _settled(recipient: Simulator) -> None:
    """Delivered (a full list of them), refused, withdrawn, expired, owed."""
    recipient.behave("room:refused", "refuse")
    work("report-2026-11-30", "alerts", *(f"room:board-{n:03}" for n in range(FULL_LIST)))
    work("report-refused", "alerts", "room:refused")
    work("report-paused", "paused-by-hand", "room:a", "room:b")
    work("report-waiting", "under-approval", "room:to-approve")
    sweep()
    with agent.run("still-running", agent="night-shift") as run:
        run.step("first", input={"words": WORD}).complete({"text": MEAN})
        run.step("second")


def _asked(recipient: Simulator) -> None:
    """One that did not arrive, as a complete search has shown: a person says what becomes of it."""
    recipient.behave("room:absent", "reset")
    work("digest-absent", "searched", "room:absent")
    sweep()
    (row,) = deliveries("digest-absent")
    scenes.settle_delay_over(row)
    make_due(pk=row.pk)
    typed("reconcile")


def _decided() -> None:
    """A request that waits, a selection that is looked at, and decisions that were carried out."""
    triager = person_of(person("triager"))
    first, second, third, *_ = deliveries("digest-2026-12-01")
    note: dict[str, Any] = {
        "note": f"nothing in the room {MEAN}",
        "link": "https://chat.example/room/1",
    }
    reason = f"the team waits for it, {WORD} {RIGHT_TO_LEFT} {MEAN}"
    decisions.decide(
        triager,
        Wish(Kind.SEND_OTHERWISE, reason=reason, typed=first.destination, **note),
        [first],
    )
    decisions.decide(triager, Wish(Kind.LEAVE, reason="nobody needs it any more"), [second])
    decisions.decide(triager, Wish(Kind.ARRIVED, reason="I saw it", **note), [third])
    withdrawn = Delivery.objects.get(destination="room:b")
    decisions.decide(triager, Wish(Kind.CANCEL, reason="it was a mistake"), [withdrawn])
    keyed = Delivery.objects.get(destination="room:keyed")
    decisions.decide(triager, Wish(Kind.SEND_SAME_KEY, reason="the key protects it"), [keyed])
    some = {row.pk: row.row_version for row in deliveries("digest-2026-12-01")[3:7]}
    filled = select(triager, dict(list(some.items())[:1]))
    wish = Wish(Kind.SEND_OTHERWISE, reason=reason, **note)
    decisions.fill(triager, wish, filled.pk)
    select(triager, some)


def _workers() -> None:
    """One that lives as long as the tests do, and one that fell silent an hour ago."""
    now = database_now()
    for name, beat_at in (("host-a:1:x", now + HOUR), (f"host-{WORD}:2:y"[:100], now - HOUR)):
        Worker.objects.create(
            name=name, host="host", pid=1, build="b", mode="resident", beat_at=beat_at
        )
