"""Amazon SES as moto keeps its interface, met in person: signatures, errors, and two of a mail."""

import json
import subprocess
from datetime import UTC, datetime
from typing import Any

import pytest

from delivery.channels.contract import Envelope, Rendered
from delivery.channels.ses import SesAdapter
from delivery.channels.sigv4 import Keys, Scope, signature_headers
from delivery.outcomes import Accepted, Ambiguous, NotSent, Outcome, Refused, Unauthorised
from tests.channels.notebook import Notebook
from tests.real.ledger import channel_to, later, send
from tests.real.moto import REGION, SENDER, Moto
from tests.real.processes import program
from tests.real.replies import Loss, losing_replies

TOKENS = iter(f"k7q2mx9kvb3r5t8w{number:05d}"[:24] for number in range(1, 99_999))
TEXT = "Ça va? “quoted” ✅\n.\n<b>no HTML</b>"
# botocore is Amazon's own client library; here it signs and checks, and sends nothing.
BOTOCORE = """
import json, sys
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.session import get_session
from botocore.validate import ParamValidator
import botocore.auth, datetime

said = json.load(sys.stdin)
shape = get_session().get_service_model("sesv2").operation_model("SendEmail").input_shape
problems = ParamValidator().validate(json.loads(said["body"]), shape).generate_report()
moment = datetime.datetime.fromisoformat(said["now"])
botocore.auth.get_current_datetime = lambda remove_tzinfo=True: moment
request = AWSRequest("POST", said["url"], data=said["body"].encode())
SigV4Auth(Credentials(*said["keys"]), "ses", said["region"]).add_auth(request)
print(json.dumps({"problems": problems, "authorization": request.headers["Authorization"]}))
"""


class Lab:
    """One adapter against the server, and one mail."""

    def __init__(self, server: Moto) -> None:
        self.server = server
        self.token = next(TOKENS)
        self.settings: dict[str, Any] = {
            "base_url": server.url,
            "region": REGION,
            "sender": SENDER,
            "allow_private": True,
        }

    def rendered(self, content: Any = TEXT, **settings: Any) -> Rendered:
        adapter = SesAdapter({**self.settings, **settings}, lambda: "")
        return adapter.render(Envelope(content, "ops@lab.test", 1, 1, self.token))

    def send(self, content: Any = TEXT, *, secret: str = "", **settings: Any) -> Outcome:
        adapter = SesAdapter({**self.settings, **settings}, lambda: secret or self.server.secret)
        return adapter.submit(self.rendered(content, **settings), "", Notebook(seconds=3))

    @property
    def mails(self) -> list[dict[str, Any]]:
        return [one for one in self.server.mails if self.token in one["body"]]


@pytest.fixture
def lab(mail_service: Moto) -> Lab:
    return Lab(mail_service)


@pytest.mark.parametrize("content", [TEXT, {"text": TEXT, "html": "<p>x</p>", "subject": "Done"}])
def test_a_signed_mail_is_accepted_once_and_named(lab: Lab, content: Any) -> None:
    outcome = lab.send(content)

    assert isinstance(outcome, Accepted), outcome
    (mail,) = lab.mails
    assert mail["id"] == outcome.provider_message_id
    assert mail["source"] == SENDER
    assert mail["destinations"]["ToAddresses"] == ["ops@lab.test"]
    assert mail["subject"] == ("Done" if isinstance(content, dict) else "Message")


def test_nothing_there_deduplicates(lab: Lab) -> None:
    first, second = lab.send(), lab.send()

    assert isinstance(first, Accepted)
    assert isinstance(second, Accepted)
    assert first.provider_message_id != second.provider_message_id
    assert len(lab.mails) == 2


@pytest.mark.parametrize("loss", ["reset", "close", "hang"])
def test_a_lost_reply_is_ambiguous_and_nothing_there_can_tell(lab: Lab, loss: Loss) -> None:
    with losing_replies(lab.server.port, loss, b"200 OK") as port:
        outcome = lab.send(base_url=f"http://127.0.0.1:{port}")

    assert isinstance(outcome, Ambiguous)
    assert len(lab.mails) == 1
    declared = SesAdapter(lab.settings, lambda: "").declare()
    assert (declared.tier, declared.can_look_up) == ("E", False)


def test_a_sender_that_is_not_verified_is_refused(lab: Lab) -> None:
    outcome = lab.send(sender="stranger@lab.test")

    assert isinstance(outcome, Refused)
    assert "MessageRejected" in outcome.why
    assert lab.mails == []


def _of_nobody(_: Moto) -> str:
    return "AKIA0000000000000000:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def _with_another_secret(server: Moto) -> str:
    return server.secret.partition(":")[0] + ":wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def _that_may_not_send(server: Moto) -> str:
    return server.make_user(f"reader-{next(TOKENS)}", may_send=False)


@pytest.mark.parametrize(
    ("keys", "error"),
    [
        (_of_nobody, "UnrecognizedClient|InvalidClientTokenId"),
        (_with_another_secret, "SignatureDoesNotMatch|InvalidSignature"),
        (_that_may_not_send, "AccessDenied"),
    ],
)
def test_keys_that_may_not_send_are_refused_and_not_quoted(lab: Lab, keys: Any, error: str) -> None:
    secret = keys(lab.server)

    outcome = lab.send(secret=secret)

    assert isinstance(outcome, Unauthorised), outcome
    assert outcome.needed == (("ses:SendEmail",) if keys is _that_may_not_send else ())
    assert any(name in outcome.why for name in error.split("|"))
    assert secret.partition(":")[2] not in repr(outcome)
    assert lab.mails == []


def test_a_secret_of_another_form_is_not_tried(lab: Lab) -> None:
    outcome = lab.send(secret="not-a-pair-of-keys")

    assert isinstance(outcome, NotSent)
    assert not outcome.tried
    assert "not-a-pair" not in repr(outcome)


@pytest.mark.parametrize("token", ["", "FwoGZXIvYXdzEXAMPLE=="])
def test_botocore_signs_the_same_and_finds_the_shape_right(token: str) -> None:
    lab = Lab(Moto(9))
    body = lab.rendered({"text": TEXT, "html": "<p>x</p>"}, configuration_set="all").body
    keys = Keys("AKIDEXAMPLEAKIDEXAMP", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token)
    url, now = (
        "https://email.eu-central-1.amazonaws.com/v2/email/outbound-emails",
        datetime.now(UTC),
    )

    said = {
        "body": body.decode(),
        "keys": [keys.id, keys.secret, keys.token or None],
        "now": now.isoformat(),
        "region": REGION,
        "url": url,
    }
    command = (str(program("moto")), "-c", BOTOCORE)
    told = json.loads(
        subprocess.run(
            command, input=json.dumps(said), capture_output=True, text=True, check=True
        ).stdout
    )
    ours = signature_headers("POST", url, body, scope=Scope(REGION, "ses"), keys=keys, now=now)

    assert told == {"problems": "", "authorization": ours["Authorization"]}


@pytest.mark.django_db(transaction=True)
def test_the_ledger_leaves_a_lost_reply_to_a_person_and_sends_no_second_mail(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    with losing_replies(lab.server.port, "reset", b"200 OK", times=1) as port:
        settings = {**lab.settings, "base_url": f"http://127.0.0.1:{port}"}
        channel_to(monkeypatch, "ses", lab.server.secret, **settings)
        row = send("ops@lab.test")
        lab.token = row.recognizer

        settled = later(row)

    assert settled == ("unknown", ["ambiguous"])
    assert len(lab.mails) == 1


@pytest.mark.django_db(transaction=True)
def test_the_ledger_delivers_what_was_taken_once(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    channel_to(monkeypatch, "ses", lab.server.secret, **lab.settings)

    row = send("board@lab.test")

    lab.token = row.recognizer
    (mail,) = lab.mails
    assert (row.status, row.provider_message_id) == ("delivered", mail["id"])
