"""Calls of the transport alone, for its tests."""

from collections.abc import Callable

from delivery.channels.http import Call, Failure
from delivery.channels.reading import PartialAnswer
from tests.channels.peers import CERTIFICATES, Script, Talk

BODY = b'{"data": 1}'


def call_to(url: str, body: bytes = BODY, ca_file: str = "ca.pem") -> Call:
    return Call(
        "POST",
        url,
        {"Idempotency-Key": "k"},
        body,
        allow_private=True,
        ca_file=str(CERTIFICATES / ca_file),
    )


def failed(result: PartialAnswer | Failure) -> Failure:
    assert isinstance(result, Failure), result
    return result


def answered(result: PartialAnswer | Failure) -> PartialAnswer:
    assert isinstance(result, PartialAnswer), result
    return result


def over_tls(then: Callable[[Talk], None], certificate: str = "server.pem") -> Script:
    def script(talk: Talk) -> None:
        talk.start_tls(certificate)
        then(talk)

    return script
