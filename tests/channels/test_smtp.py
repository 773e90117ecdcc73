"""The staged mail client against servers that fail at every stage: the dot is what decides."""

import pytest

from delivery.channels.smtp import Mail, Server, hand_in
from delivery.errors import HeldBackError
from delivery.outcomes import Accepted, Ambiguous, NotSent, Outcome, Refused, Unauthorised
from tests.channels.mail_faults import GO, LOSSES, SAYS, STAGES, YES, Conversation, failing, saying
from tests.channels.notebook import Notebook
from tests.channels.peers import Peer, Talk


def hand(
    peer: Peer,
    journal: Notebook | None = None,
    message: bytes = b"A: b\r\n\r\nhi",
    to: str = "ops@there.test",
) -> Outcome:
    server = Server("127.0.0.1", peer.port, "none", "", "", "here.test", allow_private=True)
    mail = Mail("agent@here.test", to, message, "k7q2mx")
    return hand_in(server, mail, journal or Notebook())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("stage", STAGES)
def test_what_is_lost_before_the_dot_was_not_sent_and_behind_it_is_unknown(
    stage: str, loss: str
) -> None:
    lasting = loss in {"hang", "drip"}
    with Peer(failing(stage, LOSSES[loss])) as peer:
        outcome = hand(peer, Notebook(seconds=0.4 if lasting else 5.0))

    assert isinstance(outcome, Ambiguous if stage == "dot" else NotSent)
    assert peer.effects == (1 if stage == "dot" else 0)
    assert peer.connections == 1


@pytest.mark.parametrize("stage", ["MAIL", "RCPT", "DATA", "dot"])
@pytest.mark.parametrize(
    ("reply", "permanent"),
    [(b"550 5.1.1 no such user\r\n", True), (b"451-4.7.1 later\r\n451 please\r\n", False)],
)
def test_a_no_to_the_mail_is_a_refusal(stage: str, reply: bytes, permanent: bool) -> None:
    with Peer(failing(stage, saying(reply))) as peer:
        outcome = hand(peer)

    assert isinstance(outcome, Refused)
    assert outcome.permanent is permanent
    assert outcome.response.startswith(reply[:3].decode())


@pytest.mark.parametrize("reply", [b"554 not you\r\n", b"421 shutting down\r\n", b"hello\r\n"])
@pytest.mark.parametrize("stage", ["greeting", "EHLO"])
def test_a_no_to_us_is_no_refusal_of_the_mail(stage: str, reply: bytes) -> None:
    with Peer(failing(stage, saying(reply))) as peer:
        assert isinstance(hand(peer), NotSent)


@pytest.mark.parametrize(
    "reply",
    [
        b"hm\r\n",
        b"099 hm\r\n",
        b"354 more\r\n",
        b"999 x\r\n",
        b"\r\n",
        b"250-queued\r\n550 no\r\n",
        b"550-no\r\n250 queued\r\n",
    ],
)
def test_an_answer_to_the_dot_that_is_none_proves_nothing(reply: bytes) -> None:
    with Peer(failing("dot", saying(reply))) as peer:
        assert isinstance(hand(peer), Ambiguous)


def test_an_acceptance_names_the_servers_id_and_the_phases() -> None:
    journal = Notebook()
    with Peer(failing("dot", saying(SAYS[-1]))) as peer:
        outcome = hand(peer, journal)

    assert outcome == Accepted("4XyZ", response="250 2.0.0 Ok: queued as 4XyZ")
    assert journal.entries == [
        "connecting", "connected", "last check", "writing", "written", "status",
    ]  # fmt: skip


@pytest.mark.parametrize("stage", ["MAIL", "RCPT"])
def test_a_server_that_wants_a_name_says_nothing_about_the_mail(stage: str) -> None:
    with Peer(failing(stage, saying(b"530 5.7.0 Authentication required\r\n"))) as peer:
        outcome = hand(peer)

    assert isinstance(outcome, Unauthorised)
    assert "530" in outcome.why


def test_a_recipient_with_a_plus_is_named_to_reports_as_xtext() -> None:
    said: list[bytes] = []

    def script(talk: Talk) -> None:
        conversation = Conversation(talk)
        conversation.up_to("MAIL")
        talk.send(YES)
        said.append(conversation._lines.readline())

    with Peer(script) as peer:
        hand(peer, to="ops+night=2@there.test")

    assert said[0].split() == [
        b"rcpt", b"TO:<ops+night=2@there.test>", b"NOTIFY=FAILURE,DELAY",
        b"ORCPT=rfc822;ops+2Bnight+3D2@there.test",
    ]  # fmt: skip


def test_a_password_that_cannot_be_sent_is_not_quoted() -> None:
    offers = b"250-mx.test\r\n250 AUTH PLAIN\r\n"
    with Peer(failing("EHLO", saying(offers))) as peer:
        server = Server(
            "127.0.0.1", peer.port, "none", "agent", "geheim-\u00fc", "here", allow_private=True
        )
        outcome = hand_in(server, Mail("a@b.test", "c@d.test", b"x", "k"), Notebook())

    assert isinstance(outcome, NotSent)
    assert "not ASCII" in outcome.why
    assert not any(part in outcome.why for part in ("geheim", "\u00fc", "xfc"))


def test_a_yes_that_came_before_the_dot_is_not_taken_for_the_answer_to_it() -> None:
    def script(talk: Talk) -> None:
        Conversation(talk).up_to("DATA")
        talk.send(GO + SAYS[-1])
        talk.hang()

    with Peer(script) as peer:
        outcome = hand(peer)

    assert isinstance(outcome, NotSent)
    assert "out of turn" in outcome.why


def test_held_back_it_leaves_in_the_middle_of_the_message() -> None:
    def refuse() -> None:
        raise HeldBackError("paused")

    left: list[bytes] = []

    def script(talk: Talk) -> None:
        conversation = Conversation(talk)
        conversation.up_to("DATA")
        talk.send(GO)
        while line := conversation._lines.readline():
            left.append(line)

    with Peer(script) as peer:
        outcome = hand(peer, Notebook(at_last_check=refuse))

    assert outcome == NotSent("paused", tried=False)
    assert left[-1] == b"hi\r\n"


def test_lines_that_begin_with_a_dot_arrive_as_they_are() -> None:
    taken: list[bytes] = []

    def script(talk: Talk) -> None:
        conversation = Conversation(talk)
        conversation.up_to("DATA")
        talk.send(GO)
        while (line := conversation._lines.readline()) != b".\r\n":
            taken.append(line)
        talk.send(YES)

    with Peer(script) as peer:
        assert isinstance(hand(peer, message=b"A: b\r\n\r\n.\r\n..x\r\ny.\r\n."), Accepted)

    assert taken[-5:] == [b"\r\n", b"..\r\n", b"...x\r\n", b"y.\r\n", b"..\r\n"]


def test_nothing_is_said_in_the_clear_where_encryption_was_asked_for() -> None:
    with Peer(failing("MAIL", saying(YES))) as peer:
        server = Server(
            "127.0.0.1", peer.port, "starttls", "agent", "secret", "here", allow_private=True
        )
        outcome = hand_in(server, Mail("a@b.test", "c@d.test", b"x", "k"), Notebook())

    assert isinstance(outcome, NotSent)
    assert "STARTTLS" in outcome.why


def test_a_private_address_is_refused() -> None:
    server = Server("127.0.0.1", 25, "none", "", "", "here")

    outcome = hand_in(server, Mail("a@b.test", "c@d.test", b"x", "k"), Notebook())

    assert isinstance(outcome, Refused)
    assert "allow_private" in outcome.why
