"""Mail servers that fail at every stage of a conversation, in every way."""

from tests.channels.peers import Script, Talk

GREETING, YES, GO = b"220 mx.test\r\n", b"250 ok\r\n", b"354 go on\r\n"
# What a server says to each stage, one reply a line; the last one is for the dot.
STAGES = ("greeting", "EHLO", "MAIL", "RCPT", "DATA", "dot")
SAYS = (GREETING, b"250-mx.test\r\n250 DSN\r\n", YES, YES, GO, b"250 2.0.0 Ok: queued as 4XyZ\r\n")


class Conversation:
    """One SMTP conversation, up to a stage at which something else happens."""

    def __init__(self, talk: Talk) -> None:
        self._lines = talk.sock.makefile("rb")
        self._talk = talk

    def up_to(self, stage: str) -> None:
        """Answer rightly before this stage, and take in what was said for it."""
        for name, reply in zip(STAGES, SAYS, strict=True):
            if name != "greeting":
                self._take(name)
            if name == stage:
                return
            self._talk.send(reply)

    def _take(self, stage: str) -> None:
        if stage != "dot":
            self._lines.readline()
            return
        while (line := self._lines.readline()) != b".\r\n":
            if not line:
                raise ConnectionError("the message has no end")
        self._talk.act()


def failing(stage: str, how: Script) -> Script:
    def script(talk: Talk) -> None:
        Conversation(talk).up_to(stage)
        how(talk)

    return script


def saying(reply: bytes) -> Script:
    return lambda talk: talk.send(reply)


LOSSES: dict[str, Script] = {
    "close": lambda talk: None,
    "reset": lambda talk: talk.reset(),
    "hang": lambda talk: talk.hang(),
    "drip": lambda talk: talk.drip(b"250-ok\r\n" * 200),
    "half a reply": saying(b"25"),
    "no end of lines": saying(b"250-more\r\n" * 5000),
    "a line without end": saying(b"250 " + b"x" * 100_000),
}
