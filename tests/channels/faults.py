"""The scripted faults: what the peer does, whether it acted, and what may be said about it.

`says` are the outcomes that an HTTP adapter may come to; the first rule of all is checked besides:
where the peer acted, never an outcome that says "not accepted".
"""

from dataclasses import dataclass

from delivery.outcomes import Accepted, Ambiguous, Deferred, NotSent, Refused, Unauthorised
from tests.channels.peers import OK, Script, Talk, answering, status

Kind = type[Accepted | Ambiguous | Deferred | NotSent | Refused | Unauthorised]


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    script: Script
    says: tuple[Kind, ...]
    acted: bool

    @property
    def seconds(self) -> float:
        """The call's deadline: short where the fault lasts until then, ample elsewhere."""
        lasts = any(word in self.name for word in ("hang", "drip", "never"))
        return 0.4 if lasts else 5.0


def _after_reading(then: Script, *, effect: bool) -> Script:
    def script(talk: Talk) -> None:
        talk.read_request()
        if effect:
            talk.act()
        then(talk)

    return script


def _sending(data: bytes, then: Script = lambda talk: None) -> Script:
    def script(talk: Talk) -> None:
        talk.send(data)
        then(talk)

    return script


def _dripping(data: bytes) -> Script:
    return lambda talk: talk.drip(data)


def _both(name: str, then: Script, *says: Kind) -> list[Fault]:
    """The same end of a call, with and without an effect before it."""
    return [
        Fault(f"{name}, with effect", _after_reading(then, effect=True), says, acted=True),
        Fault(f"{name}, without effect", _after_reading(then, effect=False), says, acted=False),
    ]


def _acted(name: str, then: Script, *says: Kind) -> Fault:
    return Fault(name, _after_reading(then, effect=True), says, acted=True)


def _loop(talk: Talk) -> None:
    """A redirect to itself: every follower would act again."""
    while talk.read_request():
        talk.act()
        talk.send(status(307, "Location: /again"))


INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"

BREAKING_OFF = [
    # Reset before anything was read: the sender may see it before, while or after it writes.
    Fault("reset at once", lambda talk: talk.reset(), (NotSent, Ambiguous), acted=False),
    Fault("close at once", lambda talk: None, (NotSent, Ambiguous), acted=False),
    Fault("never reads", lambda talk: talk.hang(), (Ambiguous,), acted=False),
    *_both("close", lambda talk: None, Ambiguous),
    *_both("reset", lambda talk: talk.reset(), Ambiguous),
    *_both("hang", lambda talk: talk.hang(), Ambiguous),
]

BROKEN_ANSWERS = [
    *_both("garbage", _sending(b"\x16\x03\x01 what?\r\n\r\n"), Ambiguous),
    *_both("half a status line", _sending(b"HTTP/1.1 2"), Ambiguous),
    *_both("an old answer without status", _sending(b"<html>thanks</html>"), Ambiguous),
    *_both("a status out of range", _sending(b"HTTP/1.1 42 Hm\r\n\r\n"), Ambiguous),
    *_both("an informational answer alone", _sending(b"HTTP/1.1 103 Hints\r\n\r\n"), Ambiguous),
    _acted("interim answers, then accepted", _sending(INTERIM + OK), Accepted),
    _acted("interim answers, then cut", _sending(INTERIM + OK[:10]), Ambiguous),
    *_both("nothing but interim answers", _sending(INTERIM * 20), Ambiguous),
    *_both("dripping header", _dripping(b"HTTP/1.1 200 OK" * 8), Ambiguous),
    _acted("accepted, header cut", _sending(b"HTTP/1.1 200 OK\r\nContent-Le"), Accepted),
    _acted("accepted, header drips", _sending(OK[:17], _dripping(b"X: y\r\n" * 50)), Accepted),
    _acted("accepted, header hangs", _sending(OK[:20], lambda talk: talk.hang()), Accepted),
    _acted("accepted, header reset", _sending(OK[:20], lambda talk: talk.reset()), Accepted),
    _acted("accepted, too many fields", _sending(OK[:17] + b"X: y\r\n" * 200), Accepted),
    _acted("accepted, body cut", _sending(OK[:-3]), Accepted),
    _acted("accepted, body reset", _sending(OK[:-3], lambda talk: talk.reset()), Accepted),
    _acted("accepted, body hangs", _sending(OK[:-3], lambda talk: talk.hang()), Accepted),
    _acted("accepted, body drips", _sending(OK[:-12], _dripping(b" " * 50)), Accepted),
    _acted(
        "accepted, bad chunk",
        _sending(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhm\r\n"),
        Accepted,
    ),
    _acted(
        "accepted, chunk cut",
        _sending(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}"),
        Accepted,
    ),
    _acted(
        "accepted, not gzip",
        _sending(status(200, "Content-Encoding: gzip", body="hm")),
        Accepted,
    ),
    _acted("accepted, endless body", _sending(OK[:17] + b"\r\n" + b"x" * 200_000), Accepted),
    _acted("accepted, not JSON", _sending(status(200, body="<html>")), Accepted),
    _acted("accepted, NUL in it", _sending(status(200, body='{"id": "a\\u0000b\x00"}')), Accepted),
    Fault("a redirect to itself", _loop, (Ambiguous,), acted=True),
]

# What a proxy or an application may answer after it acted, so that nothing is proven.
UNCLEAR = (300, 301, 302, 303, 304, 307, 308, 402, 406, 408, 409, 411, 418, 423, 425, 428, 451)
UNCLEAR_5XX = (500, 501, 502, 503, 504, 507, 520, 521, 522, 523, 524, 525, 526, 527, 599)


def _echo(code: int) -> Script:
    """Answers with all that it was sent, in the body and in a header: secrets among it."""

    def script(talk: Talk) -> None:
        request = talk.read_request()
        talk.act()
        line = request.replace(b"\r\n", b" ")[:8000]
        head = b"HTTP/1.1 %d Told\r\nServer: %s\r\nContent-Length: %d\r\n\r\n"
        talk.send(head % (code, line, len(request)) + request)

    return script


ECHOES = [
    Fault("accepted, all echoed", _echo(200), (Accepted,), acted=True),
    Fault("status 500, all echoed", _echo(500), (Ambiguous,), acted=True),
    Fault("status 302, all echoed", _echo(302), (Ambiguous,), acted=True),
]

STATUSES = [
    *(
        Fault(
            f"status {code}, {'with' if acted else 'without'} effect",
            answering(status(code, "Retry-After: 3", "Location: /x"), effect=acted),
            (Ambiguous,),
            acted=acted,
        )
        for code in UNCLEAR + UNCLEAR_5XX
        for acted in (True, False)
    ),
    *(
        Fault(f"status {code}", answering(status(code)), (Accepted,), acted=True)
        for code in (200, 201, 202, 203, 206, 299)
    ),
    Fault("status 204", answering(b"HTTP/1.1 204 None\r\n\r\n"), (Accepted,), acted=True),
    *(
        Fault(f"status {code}", answering(status(code), effect=False), (Refused,), acted=False)
        for code in (400, 403, 404, 405, 410, 413, 415, 422)
    ),
    Fault("status 401", answering(status(401), effect=False), (Unauthorised,), acted=False),
    Fault("status 429", answering(status(429), effect=False), (Deferred,), acted=False),
]

FAULTS = [*BREAKING_OFF, *BROKEN_ANSWERS, *ECHOES, *STATUSES]
