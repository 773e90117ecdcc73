"""Amazon SES where no server is needed: what its answers prove, and what it says of the keys."""

from typing import Any

import pytest

from delivery.channels.contract import Envelope, Introspection
from delivery.channels.ses import SesAdapter
from delivery.outcomes import Accepted, Ambiguous, Deferred, Outcome, Refused, Unauthorised
from delivery.timing import boottime
from tests.channels.notebook import Notebook
from tests.channels.peers import Peer, answering, status

TOKEN = "a-session-token-of-20"
SECRET = f"AKIDEXAMPLEAKIDEXAMP:wJalrXUtnFEMI/K7MDENG:{TOKEN}"
SETTINGS = {"region": "eu-central-1", "sender": "agent@here.test"}


def adapter(url: str, **settings: Any) -> SesAdapter:
    given = {"base_url": url, "allow_private": True, **SETTINGS, **settings}
    return SesAdapter(given, lambda: SECRET)


def submit(answer: bytes) -> Outcome:
    with Peer(answering(answer)) as peer:
        made = adapter(peer.url)
        envelope = Envelope("x", "ops@there.test", 1, 1, "dlvq2mx9kabcdefghijkl")
        return made.submit(made.render(envelope), "", Notebook())


def introspect(answer: bytes) -> Introspection:
    with Peer(answering(answer, effect=False)) as peer:
        return adapter(peer.url).introspect(boottime() + 10)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (status(200, body='{"MessageId": "m1"}'), Accepted),
        (status(200, body="not JSON"), Accepted),
        (status(400, "x-amzn-ErrorType: MessageRejected:http://internal.example/"), Refused),
        (status(400, body='{"__type": "com.amazonaws.sesv2#SendingPausedException"}'), Refused),
        (status(400, "x-amzn-ErrorType: ThrottlingException"), Deferred),
        (status(429, "x-amzn-ErrorType: TooManyRequestsException"), Deferred),
        (status(400, "x-amzn-ErrorType: SomethingNew"), Ambiguous),
        (status(400), Ambiguous),
        (status(409, "x-amzn-ErrorType: ConflictException"), Ambiguous),
        (status(500, "x-amzn-ErrorType: MessageRejected"), Ambiguous),
        (status(503, "x-amzn-ErrorType: ThrottlingException"), Ambiguous),
    ],
)
def test_an_answer_proves_what_the_service_says_and_no_more(
    answer: bytes, kind: type[Outcome]
) -> None:
    assert isinstance(submit(answer), kind)


def test_a_session_token_that_is_repeated_by_a_complaint_is_not_kept() -> None:
    name = "x-amzn-ErrorType: SignatureDoesNotMatch"

    outcome = submit(status(403, name, body=f"expected x-amz-security-token:{TOKEN}"))

    assert isinstance(outcome, Unauthorised)
    assert TOKEN not in repr(outcome)


def test_known_keys_are_named_by_their_id_and_whether_they_may_send_is_told() -> None:
    may = introspect(status(200, body='{"SendingEnabled": true}'))
    may_not = introspect(status(200, body='{"SendingEnabled": false}'))

    assert (may.identity, may.why) == ("AKIDEXAMPLEAKIDEXAMP", "")
    assert may_not.why == "sending is disabled for this account"


@pytest.mark.parametrize(
    ("error", "refused"), [("UnrecognizedClientException", True), ("AccessDeniedException", False)]
)
def test_only_keys_that_nobody_knows_are_called_refused(error: str, refused: bool) -> None:
    told = introspect(status(403, f"x-amzn-ErrorType: {error}"))

    assert (told.identity, told.refused) == ("", refused)
    assert error in told.why


def test_a_region_that_the_address_does_not_belong_to_is_complained_about() -> None:
    home = "https://email.us-east-1.amazonaws.com"

    assert SesAdapter.check_settings({**SETTINGS, "base_url": home})[0].startswith("region: ")
    assert SesAdapter.check_settings({**SETTINGS, "base_url": home, "region": "us-east-1"}) == []
