"""Twilio: one SMS, which costs money each time. It honours no key, and its list is a poor witness.

Messages can be listed by recipient and day, but the day is that of sending: one that is still
queued is missing. So a match proves acceptance and nothing proves absence. There is no hidden
place; the recognizer stands in the text and costs characters.

Source: twilio-oai @d50069b (v2010); twilio.com/docs, request validation. Known by contract only.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import ClassVar
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from delivery.channels.answers import Reading, json_of, outcome_of
from delivery.channels.api import ApiAdapter, Listing, api_settings, clock_of, scan_settings
from delivery.channels.contract import (
    Envelope,
    Finding,
    Introspection,
    Json,
    Posted,
    Query,
    Receipt,
    Rendered,
)
from delivery.channels.declaration import Declaration, Surface
from delivery.channels.destinations import check_pattern
from delivery.channels.reading import PartialAnswer
from delivery.channels.scanning import CLOCK_TOLERANCE, Page, Seen
from delivery.channels.settings import Settings, matches, text
from delivery.channels.texts import split_content, text_of, visible_line
from delivery.errors import ForgedReceiptError
from delivery.outcomes import Outcome

LIMIT = 1600 - 120  # characters of a body, less the visible line
PAGE = 1000
_API = "/2010-04-01/Accounts"
_RIGHT = "a telephone number in international form, such as +4930123456"
_NUMBER = r"\+[1-9][0-9]{6,14}"  # E.164
_REF = "ref"  # the parameter of our own in the address that reports are posted to
_KINDS = {
    "queued": "accepted",
    "accepted": "accepted",
    "sending": "accepted",
    "sent": "accepted",
    "delivered": "delivered",
    "undelivered": "bounced",
    "failed": "failed",
}


class TwilioAdapter(ApiAdapter):
    """One message by an account's token."""

    slug = "twilio"
    known: ClassVar[Settings] = {
        **api_settings("https://api.twilio.com"),
        **scan_settings(),
        "account_sid": text(
            "The account.",
            right="AC and 32 hex digits",
            is_right=matches(r"AC[0-9a-f]{32}"),
            required=True,
        ),
        "sender": text(
            "The number that it is sent from.",
            right=_RIGHT,
            is_right=matches(_NUMBER),
            required=True,
        ),
        "status_callback": text(
            "Where reports are posted to.",
            right="an https URL",
            is_right=lambda url: url.startswith("https://"),
        ),
    }
    content_type: ClassVar[str] = "application/x-www-form-urlencoded"
    reading: ClassVar[Reading] = Reading(id_field="sid")

    def declare(self) -> Declaration:
        return Declaration(
            adapter=self.slug,
            on_duplicate="a second message, paid for again",
            # Queued messages have no date of sending and are missing from the list.
            surface=Surface("the account's messages", complete=False),
            recognizer_places=("last line",),
            refusals="400, 401, 403, 404, 405, 410, 413, 415, 422 are answered before acting",
            rate_limit_proves_rejection=True,
            ids_are_unique=True,
            processing_s=30.0,
            deadline_s=20.0,
            introspection="the account's name",
            questions_per_minute=30.0,
            receipts="status callbacks, signed",
            met="contract only",
        )

    def normalise(self, destination: str) -> str:
        bare = "".join(one for one in destination.strip() if one not in " -()./")
        return check_pattern(bare, _NUMBER, _RIGHT)

    def check_content(self, content: Json) -> None:
        text_of(content)

    def split(self, content: Json) -> list[Json]:
        return split_content(content, LIMIT, "utf16")

    def render(self, envelope: Envelope) -> Rendered:
        line = visible_line(envelope.recognizer, envelope.marker)
        form = {
            "Body": f"{text_of(envelope.content)}\n{line}",
            "From": self.option("sender"),
            "To": envelope.destination,
        }
        if self.option("status_callback"):
            form["StatusCallback"] = _with_ref(self.option("status_callback"), envelope.recognizer)
        return Rendered(urlencode(form).encode(), envelope.destination)

    def headers(self, secret: str) -> dict[str, str]:
        if not (secret.isascii() and secret.isprintable()):
            raise ValueError("the credential's secret has a character that no header can carry")
        pair = f"{self.option('account_sid')}:{secret}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}

    def path(self, rendered: Rendered, key: str, secret: str) -> str:
        del rendered, key, secret
        return f"{_API}/{self.option('account_sid')}/Messages.json"

    def outcome(self, answer: PartialAnswer, secret: str) -> Outcome:
        return outcome_of(answer, self.reading, [secret])

    def look_up(self, query: Query, deadline: float) -> Iterator[Finding]:
        surface = self.declare().surface
        if surface is None:
            return
        day = (query.since - CLOCK_TOLERANCE - timedelta(days=1)).strftime("%Y-%m-%d")
        path = f"{_API}/{self.option('account_sid')}/Messages.json"
        asked = {"To": query.destination, "DateSent>": day, "PageSize": PAGE}

        def page(cursor: str | None) -> Page | str:
            said = self.told(cursor or path, deadline, None if cursor else asked)
            if isinstance(said, str):
                return said
            return Page(
                messages=tuple(_seen(one) for one in said["messages"]),
                next=said.get("next_page_uri") or None,
                reader=self.option("sender"),
                may_read=True,  # without it the answer is 401
                whole_history=False,
            )

        yield from self.scanned(query, surface, Listing(f"{path}?{urlencode(asked)}", page))

    def introspect(self, deadline: float) -> Introspection:
        answer = self.ask(f"{_API}/{self.option('account_sid')}.json", deadline)
        if isinstance(answer, str):
            return Introspection(why=answer)
        said = json_of(answer)
        if answer.status_code != HTTPStatus.OK or not isinstance(said, dict):
            refused = answer.status_code == HTTPStatus.UNAUTHORIZED
            return Introspection(refused=refused, why=f"answered {answer.status_code}")
        return Introspection(identity=str(said.get("sid", "")), clock=clock_of(answer))

    def classify_receipt(self, posted: Posted) -> Sequence[Receipt]:
        """A status callback: the URL and the sorted form, signed with the account's token."""
        form = dict(parse_qsl(posted.body.decode("utf-8", "replace"), keep_blank_values=True))
        signed = posted.url + "".join(name + form[name] for name in sorted(form))
        digest = hmac.digest(self._needed_secret().encode(), signed.encode(), hashlib.sha1)
        given = posted.headers.get("x-twilio-signature", "")
        if not given.isascii() or not hmac.compare_digest(base64.b64encode(digest).decode(), given):
            raise ForgedReceiptError("its X-Twilio-Signature is not ours")
        sid, status = form.get("MessageSid", ""), form.get("MessageStatus", "")
        kind = _KINDS.get(status)
        if kind is None:
            return []
        return [
            Receipt(
                kind=kind,  # type: ignore[arg-type]  # from a table of these
                receipt_id=f"{sid} {status}",
                provider_message_id=sid,
                # Signed with the URL. The only name we know where the answer was lost.
                recognizer=_ref_of(posted.url),
                at=posted.at,
                said=status,
            )
        ]


def _with_ref(callback: str, recognizer: str) -> str:
    """The address for reports, which then name the message by our own word for it."""
    joint = "&" if urlsplit(callback).query else "?"
    return f"{callback}{joint}{urlencode({_REF: recognizer})}"


def _ref_of(url: str) -> str:
    return parse_qs(urlsplit(url).query).get(_REF, [""])[0]


def _seen(one: Mapping[str, Json]) -> Seen:
    return Seen(one["sid"], one["from"], parsedate_to_datetime(one["date_created"]), one["body"])
