"""A lost reply of Synapse, from recorded to settled: what the ledger does with it by itself."""

from collections.abc import Iterator, Sequence

import pytest

from ledgers.models import Channel, OutboxItem
from tests.crash.clock import pass_s
from tests.factories import delivery, make_channel, record, sweep
from tests.real.replies import losing_replies
from tests.real.synapse import Member, Synapse

pytestmark = pytest.mark.django_db(transaction=True)
TAKEN = b'"event_id"'
LATER_S = 240.0


class Lab:
    """A room, and a channel whose way to it loses the reply to the first message."""

    def __init__(self, server: Synapse, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.me = server.register()
        self.room = self.me.make_room(server.register())
        self.use(self.me)
        self.channel = make_channel(
            adapter="matrix",
            settings={"base_url": f"http://127.0.0.1:{port}", "allow_private": True},
            secret_ref="env:TEST_MATRIX",
            deadline_s=5,
        )

    def use(self, member: Member) -> None:
        self._monkeypatch.setenv("TEST_MATRIX", member.token)

    @property
    def effects(self) -> int:
        return len(self.me.events(self.room))

    @property
    def settled(self) -> tuple[str, list[str]]:
        row = delivery(self.room)
        return row.status, [one.outcome for one in row.attempts.order_by("number")]

    def again(self, look_ups: Sequence[float] = ()) -> None:
        """Some minutes later, within the window, on a channel that looks up like this."""
        Channel.objects.update(look_up_schedule=list(look_ups))
        pass_s(LATER_S)
        sweep()
        assert not OutboxItem.objects.exists()  # nothing is left to a machine


@pytest.fixture
def lab(
    homeserver: Synapse, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Lab]:
    with losing_replies(homeserver.port, "reset", TAKEN, times=1) as port:
        made = Lab(homeserver, port, monkeypatch)
        record([made.room])
        sweep()
        assert made.settled == ("unknown", ["ambiguous"])
        assert made.effects == 1
        yield made


def test_the_same_key_settles_it_without_a_second_event(lab: Lab) -> None:
    lab.again()

    assert lab.settled == ("delivered", ["ambiguous", "accepted"])
    assert lab.effects == 1
    scopes = set(delivery(lab.room).attempts.values_list("key_scope", flat=True))
    assert len(scopes) == 1
    assert scopes.pop().startswith("device:")


def test_a_look_into_the_room_settles_it_with_no_second_submission(lab: Lab) -> None:
    lab.again([0])

    assert lab.settled == ("delivered", ["ambiguous"])
    assert lab.effects == 1


def test_the_token_of_another_device_voids_the_key(lab: Lab) -> None:
    lab.use(lab.me.another_device())
    # A person says that it is the same account, which it is; the device is another all the same.
    lab.channel.credential.fingerprint = ""
    lab.channel.credential.save()

    lab.again()

    assert lab.settled == ("unknown", ["ambiguous"])
    assert lab.effects == 1
