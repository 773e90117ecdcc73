"""A mail server that wants somebody to sign in: nothing fails, and a check lets it go on."""

from contextlib import ExitStack
from typing import Any

import pytest

from delivery.models import CredentialHold
from ledgers.models import Attempt, Channel
from tests.channels.mail_faults import SAYS, failing, saying
from tests.channels.peers import Peer
from tests.commands.shell import typed
from tests.factories import deliveries, make_channel, make_due, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)

WANTS_A_NAME = b"530 5.7.0 Authentication required\r\n"


def lead_to(peer: Peer, **settings: Any) -> None:
    given = {"host": "127.0.0.1", "security": "none", "sender": "agent@acme.test"}
    Channel.objects.update(settings={**given, "allow_private": True, "port": peer.port, **settings})


@pytest.mark.usefixtures("transactional_db")
def test_one_is_refused_the_rest_is_held_and_a_check_lets_all_go_on() -> None:
    make_channel(adapter="email", deadline_s=5, lease_s=20, settings={})
    with ExitStack() as stack:
        closed = stack.enter_context(Peer(failing("MAIL", saying(WANTS_A_NAME))))
        opened = stack.enter_context(Peer(failing("dot", saying(SAYS[-1]))))
        lead_to(closed)
        record([f"ops{number}@acme.test" for number in range(5)])
        sweep(concurrency=1)
        before = {row.status for row in deliveries()}, Attempt.objects.count()
        hold = CredentialHold.objects.get()

        lead_to(opened)
        said = typed("channel_check", "alerts")
        make_due()
        sweep()

    assert before == ({"pending"}, 1)
    assert "530" in hold.why
    assert said.code == 0, said.out
    assert [row.status for row in deliveries()] == ["delivered"] * 5
    assert opened.effects == 5
