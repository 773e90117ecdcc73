"""Amazon SES: mail by HTTP, which honours no key and cannot be searched.

`SendEmail` has no idempotency token, a message can be asked for by its id only, and that is what a
lost answer did not tell. So an unknown send stays unknown until a person looks into the mailbox.
The recognizer goes into a header, a tag (which event destinations report) and the last line.

Source: the service's own description, sesv2 in botocore 1.44.8 (shapes, errors). Known by contract
only: moto 5.2.5, which was met in person (tests/real/test_ses.py), is a server of the same
interface that others keep, not Amazon's.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import ClassVar

from delivery.channels.answers import json_of, kept_text
from delivery.channels.api import (
    ApiAdapter,
    api_settings,
    clock_of,
    rate_limited,
    said_no,
    unclear,
)
from delivery.channels.contract import Envelope, Introspection, Json, Posted, Receipt, Rendered
from delivery.channels.declaration import Declaration
from delivery.channels.mail_addresses import is_address, normalise_address
from delivery.channels.mail_content import check_mail_content, read_mail_content
from delivery.channels.mime import REF_HEADER
from delivery.channels.reading import PartialAnswer
from delivery.channels.ses_events import read_event
from delivery.channels.settings import Settings, is_line, matches, text
from delivery.channels.sigv4 import Keys, Scope, signature_headers
from delivery.channels.sns import confirm, is_topic, verified
from delivery.channels.texts import visible_line
from delivery.outcomes import Accepted, Outcome, Unauthorised
from ledgers.canonical import canonical_json

REF_TAG = "counterfoil-ref"
_SEND = "/v2/email/outbound-emails"
_ACCOUNT = "/v2/email/account"
_THROTTLED = frozenset({"ThrottlingException", "Throttling", "TooManyRequestsException"})
_XML_CODE = re.compile(rb"<Code>([A-Za-z]{1,100})</Code>")
# Of SendEmail's own errors and the ones that every service shares: all are answered before acting.
_REFUSES = frozenset(
    {
        "AccountSuspendedException", "BadRequestException", "LimitExceededException",
        "MailFromDomainNotVerifiedException", "MessageRejected", "NotFoundException",
        "OptInRequired", "SendingPausedException", "ValidationError", "ValidationException",
    }
)  # fmt: skip
# About the keys, whatever the message: not known, or not allowed to send.
_NO_KEYS = frozenset(
    {
        "ExpiredTokenException", "IncompleteSignature", "IncompleteSignatureException",
        "InvalidClientTokenId", "InvalidSignatureException", "MissingAuthenticationToken",
        "MissingAuthenticationTokenException", "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)  # fmt: skip
_NOT_ALLOWED = frozenset({"AccessDenied", "AccessDeniedException"})


class SesAdapter(ApiAdapter):
    """One `SendEmail` to one address."""

    slug = "ses"
    known: ClassVar[Settings] = {
        **api_settings(""),
        "region": text(
            "The region that base_url belongs to.",
            right="a region's name, such as eu-central-1",
            is_right=matches(r"[a-z]{2}(-[a-z]+)+-[0-9]"),
            required=True,
        ),
        "sender": text(
            "The address mail comes from.",
            right="a mail address in lower case, such as agent@example.com",
            is_right=is_address,
            required=True,
        ),
        "subject": text(
            "For content without a subject.", default="Message", right="one line", is_right=is_line
        ),
        "configuration_set": text(
            "The set whose event destinations report what becomes of a message.",
            right="a configuration set's name",
            is_right=matches(r"[A-Za-z0-9_-]{1,64}"),
        ),
        "receipt_topic": text(
            "The SNS topic that its events go to, and from there to /receipts/<channel>/.",
            right="a topic's ARN, such as arn:aws:sns:eu-central-1:123456789012:mail",
            is_right=is_topic,
        ),
    }

    @classmethod
    def check_settings(cls, settings: Mapping[str, Json]) -> list[str]:
        wrong = super().check_settings(settings)
        home, region = str(settings.get("base_url", "")), str(settings.get("region", ""))
        if not wrong and home.endswith(".amazonaws.com") and f".{region}." not in home:
            wrong = [f"region: is {region!r}, must be the one that {home} belongs to"]
        return wrong

    def declare(self) -> Declaration:
        return Declaration(
            adapter=self.slug,
            on_duplicate="a second mail, with another MessageId",
            recognizer_places=(f"header {REF_HEADER}", f"tag {REF_TAG}", "last line"),
            refusals="4xx with an error that SendEmail or every service names",
            rate_limit_proves_rejection=True,
            ids_are_unique=True,
            deadline_s=20.0,
            introspection="GetAccount: whether the keys are known and may send; no scopes",
            questions_per_minute=60.0,  # GetAccount takes one a second
            scopes=("ses:SendEmail",),
            receipts="events by SNS, signed, of one topic",
            met="contract only",
        )

    def normalise(self, destination: str) -> str:
        return normalise_address(destination)

    def check_content(self, content: Json) -> None:
        check_mail_content(content)

    def render(self, envelope: Envelope) -> Rendered:
        said = read_mail_content(envelope.content, self.option("subject"))
        line = visible_line(envelope.recognizer, envelope.marker)
        body = {"Text": _utf8(f"{said.text}\n\n{line}")}
        if said.html:
            body["Html"] = _utf8(f"{said.html}\n<p>{line}</p>")
        mail: dict[str, Json] = {
            "FromEmailAddress": self.option("sender"),
            "Destination": {"ToAddresses": [envelope.destination]},
            "Content": {
                "Simple": {
                    "Subject": _utf8(said.subject),
                    "Body": body,
                    "Headers": [{"Name": REF_HEADER, "Value": envelope.recognizer}],
                }
            },
            "EmailTags": [{"Name": REF_TAG, "Value": envelope.recognizer}],
        }
        if self.option("configuration_set"):
            mail["ConfigurationSetName"] = self.option("configuration_set")
        return Rendered(canonical_json(mail, "content").encode(), envelope.destination)

    def headers(self, secret: str) -> dict[str, str]:
        Keys.read(secret)  # nothing of them is sent; the signature is made for each request
        return {}

    def signature(self, method: str, url: str, body: bytes, secret: str) -> dict[str, str]:
        scope = Scope(self.option("region"), "ses")
        keys, now = Keys.read(secret), datetime.now(UTC)
        return signature_headers(method, url, body, scope=scope, keys=keys, now=now)

    def path(self, rendered: Rendered, key: str, secret: str) -> str:
        del rendered, key, secret
        return _SEND

    def outcome(self, answer: PartialAnswer, secret: str) -> Outcome:
        status, said = answer.status_code, json_of(answer)
        # All that is sent of the secret; a complaint about a signature repeats what was signed.
        token = Keys.read(secret).token
        if 200 <= status < 300:
            message_id = said.get("MessageId", "") if isinstance(said, dict) else ""
            return Accepted(str(message_id)[:200], response=kept_text(answer, [token]))
        error = _error(answer)
        if status == HTTPStatus.TOO_MANY_REQUESTS or (status < 500 and error in _THROTTLED):
            return rate_limited(answer, None, token)
        if 400 <= status < 500 and error in _NO_KEYS | _NOT_ALLOWED:
            needed = ("ses:SendEmail",) if error in _NOT_ALLOWED else ()
            shown = kept_text(answer, [token])
            return Unauthorised(f"{status} {error}", needed, response=shown)
        if 400 <= status < 500 and error in _REFUSES:
            return said_no(answer, f"{status} {error}", token)
        return unclear(answer, f"{status} {error} proves nothing about acceptance", token)

    def classify_receipt(self, posted: Posted) -> Sequence[Receipt]:
        """An event, or the question whether this address wants the topic, which is confirmed."""
        said = verified(posted, self.option("receipt_topic"))
        if said["Type"] == "SubscriptionConfirmation":
            confirm(said)
            return []
        return read_event(said, REF_TAG, REF_HEADER)

    def introspect(self, deadline: float) -> Introspection:
        answer = self.ask(_ACCOUNT, deadline)
        if isinstance(answer, str):
            return Introspection(why=answer)
        if answer.status_code == HTTPStatus.OK:
            return Introspection(
                identity=Keys.read(self.secret()).id,
                clock=clock_of(answer),
                why="" if _may_send(answer) else "sending is disabled for this account",
            )
        error = _error(answer)
        why = f"answered {answer.status_code} {error}".strip()
        return Introspection(refused=error in _NO_KEYS, clock=clock_of(answer), why=why)


def _may_send(answer: PartialAnswer) -> bool:
    said = json_of(answer)
    return isinstance(said, dict) and said.get("SendingEnabled") is True


def _error(answer: PartialAnswer) -> str:
    """An error's name: in a header or in the body, and some add a namespace or an address.

    The service's own errors are JSON; moto refuses keys in the XML of Amazon's older interfaces.
    """
    said = json_of(answer)
    in_body = said.get("__type") if isinstance(said, dict) else None
    in_xml = _XML_CODE.search(answer.content)
    named = answer.headers.get("x-amzn-ErrorType") or in_body or (in_xml and in_xml[1].decode())
    return str(named or "").partition(":")[0].rpartition("#")[2]


def _utf8(data: str) -> dict[str, str]:
    return {"Data": data, "Charset": "UTF-8"}
