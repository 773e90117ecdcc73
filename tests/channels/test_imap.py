"""Mailboxes on servers that answer otherwise than a mail server does."""

import re

import pytest

from delivery.channels.imap import Mailbox, MailboxError, opened
from delivery.timing import boottime
from tests.channels.peers import Peer, Script, Talk

PASSWORD = "a-password-of-the-lab"


def answering(*answers: bytes) -> Script:
    """A server that greets, and says these to one command after the other; then it ends."""

    def script(talk: Talk) -> None:
        talk.send(b"* OK [CAPABILITY IMAP4rev1] hello\r\n")
        lines = talk.sock.makefile("rb")
        for answer in answers:
            tag = lines.readline().split(b" ")[0]
            talk.send(answer.replace(b"TAG", tag))

    return script


YES = b"TAG OK done\r\n"


def read(*answers: bytes, seconds: float = 5.0) -> list[str]:
    """What a search finds where the server says this to CAPABILITY, LOGIN, EXAMINE and SEARCH."""
    with Peer(answering(*answers)) as peer:
        box = Mailbox("127.0.0.1", peer.port, "none", "agent", PASSWORD, "INBOX", True)
        with opened(box, boottime() + seconds) as reader:
            return reader.search("ALL")


START = (b"* CAPABILITY IMAP4rev1\r\n" + YES, YES, b"* 3 EXISTS\r\n" + YES)


def test_what_a_server_finds_is_read_newest_first() -> None:
    assert read(*START, b"* SEARCH 1 12 3\r\n" + YES) == ["12", "3", "1"]


HOSTILE = {
    "a literal without end": b"* SEARCH {9999999999}\r\n" + b"x" * 100,
    "a literal that cannot be": b"* SEARCH {99999999999999999999999999}\r\n",
    "words without end": b"* 1 EXISTS\r\n" * 900_000,
    "one line without end": b"* SEARCH " + b"1 " * 700_000,
    "another tag": b"other OK done\r\n",
    "a no": b"TAG NO not now\r\n",
    "what is no number": b"* SEARCH one two\r\n" + YES,
    "half an answer": b"* SEARCH 1",
    "the password": b"* BYE " + PASSWORD.encode() + b"\r\n",
}


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
def test_whatever_a_server_says_instead_is_no_answer_and_costs_little(said: bytes) -> None:
    with pytest.raises(MailboxError) as raised:
        read(*START, said)

    assert not re.search("MemoryError|OverflowError", str(raised.value))
