"""Webhooks as Standard Webhooks describes them, with an idempotency key beside.

The body is `{"data": …, "ref": …, "type": …}` as canonical JSON: the agent's content as it was
recorded, the recognizer, and the event's type; `part` and `parts` where it was split, `resend`
where a person approved another copy. With `body: content` it is the bare content. It holds no time
and no attempt number, so every attempt sends the same bytes, and receivers that deduplicate by
content can. The `timestamp` member that the specification recommends is left out for that reason;
the `webhook-timestamp` header tells it. The recognizer is in the `counterfoil-ref` header, too.

Source: standard-webhooks/spec/standard-webhooks.md @b2fa7b8 (headers, signature, statuses);
IETF draft Idempotency-Key (the quoted form of the key). Met in person behind nginx, which answers
502 and 504 for an application that has acted as well as for one that has not
(tests/real/test_webhook.py); what an application promises is its own.
"""

import base64
import hashlib
import hmac
import time
from collections.abc import Iterator, Mapping
from typing import ClassVar
from urllib.parse import quote, urlsplit

from delivery.channels.answers import REFUSALS, Reading, outcome_of
from delivery.channels.contract import Adapter, Envelope, Finding, Journal, Json, Query, Rendered
from delivery.channels.declaration import Declaration, KeyForm, Window
from delivery.channels.http import Call, exchange
from delivery.channels.looking import ask, bearer, found_or_absent
from delivery.channels.settings import Settings, budget, choice, flag, number, statuses, text
from delivery.channels.urls import is_file, is_http_url, is_token, normalise_url
from delivery.errors import SecretError
from delivery.outcomes import NotSent, Outcome
from ledgers.canonical import canonical_json

REF_HEADER = "counterfoil-ref"


class WebhookAdapter(Adapter):
    """One POST to the destination's URL."""

    slug = "webhook"
    known: ClassVar[Settings] = {
        "allow_private": flag("Whether loopback, private and link-local addresses may be called."),
        "allow_http": flag("Whether http:// URLs may be called; https:// always may."),
        "ca_file": text(
            "Certificates to trust instead of the usual ones.",
            right="the path of a readable PEM file",
            is_right=is_file,
        ),
        "keep_connections": flag(
            "Whether a connection is used again within a second; off, a lost answer is rarer.",
            default=True,
        ),
        "body": choice(
            "`wrapped` in type, data and ref, or the bare `content`.", "wrapped", "content"
        ),
        "type": text("The event's type in a wrapped body.", default="counterfoil.message"),
        "secret_as": choice("What the credential's secret is used as.", "signature", "bearer"),
        "key_encoding": choice("The key in Idempotency-Key: as it is, or quoted.", "raw", "quoted"),
        "dedupe_window_s": number("Seconds for which receivers honour a key.", default=0),
        "dedupe_window_source": text("Where that is written.", default="channel setting"),
        "look_up_url": text(
            "Where to ask whether a message arrived; {key} and {recognizer} are filled in."
            ' It says {"found": true, "id": …}, {"found": false} or 404; all else proves nothing.',
            right="an http(s) URL with {key} or {recognizer} in it",
            is_right=lambda url: is_http_url(url) and ("{key}" in url or "{recognizer}" in url),
        ),
        "look_up_authoritative": flag("Whether a 404 there proves that nothing was accepted."),
        "processing_s": number("Seconds until the look-up knows of a message.", default=0),
        "refusals": statuses("Statuses that prove non-acceptance.", *REFUSALS),
        "conflict": choice("What a 409 means.", "ambiguous", "in_flight", "mismatch", "accepted"),
        "redirect": choice("What a 3xx means; never followed.", "ambiguous", "refused", "accepted"),
        "rate_limit": choice("Whether a 429 proves non-acceptance.", "deferred", "ambiguous"),
        "id_header": text(
            "The answer's header with the receiver's id, one per message; else the JSON member id"
            " is taken, which may be anything.",
            right="a header's name",
            is_right=is_token,
        ),
        "questions_per_minute": budget(),
    }

    best: ClassVar[Mapping[str, Json]] = {
        "dedupe_window_s": 86_400,
        "look_up_url": "https://hooks.example.com/{key}",
        "look_up_authoritative": True,
    }

    def declare(self) -> Declaration:
        window_s = float(self.option("dedupe_window_s"))
        source = self.option("dedupe_window_source")
        conflict = self.option("conflict")
        return Declaration(
            adapter=self.slug,
            key=KeyForm(f"headers webhook-id and Idempotency-Key ({self.option('key_encoding')})"),
            window=Window(window_s, source, "operator") if window_s else Window(),
            key_scope="endpoint" if window_s else "none",
            on_duplicate="a 2xx, as the receiver chooses",
            on_mismatch="409" if conflict == "mismatch" else "not detected",
            on_in_flight="409" if conflict == "in_flight" else "not detected",
            look_up_by_key=bool(self.option("look_up_url")),
            recognizer_places=self._places(),
            refusals=", ".join(map(str, self.option("refusals"))) + " (channel setting)",
            rate_limit_proves_rejection=self.option("rate_limit") == "deferred",
            # Whatever stands in a member that happens to be called id may be the same each time.
            ids_are_unique=bool(self.option("id_header")),
            processing_s=float(self.option("processing_s")),
            deadline_s=20.0,
            met="real server",
        )

    def _places(self) -> tuple[str, ...]:
        wrapped = self.option("body") == "wrapped"
        return (f"header {REF_HEADER}", *(("body member ref",) if wrapped else ()))

    def normalise(self, destination: str) -> str:
        return normalise_url(destination, allow_http=self.option("allow_http"))

    def render(self, envelope: Envelope) -> Rendered:
        content = envelope.content
        body = content if self.option("body") == "content" else self._wrapped(envelope)
        extra = {"recognizer": envelope.recognizer}
        return Rendered(canonical_json(body, "content").encode(), envelope.destination, extra)

    def _wrapped(self, envelope: Envelope) -> Json:
        wrapped = {
            "type": self.option("type"),
            "data": envelope.content,
            "ref": envelope.recognizer,
        }
        if envelope.parts > 1:
            wrapped |= {"part": envelope.part, "parts": envelope.parts}
        if envelope.marker:
            wrapped["resend"] = envelope.marker
        return wrapped

    def route(self, destination: str) -> str:
        return str(urlsplit(destination).netloc)

    def ready(self) -> str:
        try:
            self._headers(b"", "key", self.secret(), 0)
        except (SecretError, ValueError) as error:
            return str(error)
        return ""

    def submit(self, rendered: Rendered, key: str, journal: Journal) -> Outcome:
        try:
            secret = self.secret()
            headers = self._headers(rendered.body, key, secret, int(time.time()))
            headers[REF_HEADER] = rendered.extra["recognizer"]
        except (SecretError, ValueError) as error:
            return NotSent(str(error), tried=False)
        call = Call(
            "POST",
            rendered.destination,
            headers,
            rendered.body,
            allow_private=self.option("allow_private"),
            ca_file=self.option("ca_file"),
            keep=self.option("keep_connections"),
        )
        return outcome_of(exchange(call, journal), self._reading(), [secret, *secret.split()])

    def _headers(self, body: bytes, key: str, secret: str, now: int) -> dict[str, str]:
        quoted = self.option("key_encoding") == "quoted"
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": f'"{key}"' if quoted else key,
            "webhook-id": key,
            "webhook-timestamp": str(now),
        }
        if secret and self.option("secret_as") == "bearer":
            headers |= bearer(secret)
        elif secret:
            headers["webhook-signature"] = sign(secret, key, now, body)
        return headers

    def _reading(self) -> Reading:
        return Reading(
            refusals=frozenset(self.option("refusals")),
            conflict=self.option("conflict"),
            redirect=self.option("redirect"),
            rate_limit=self.option("rate_limit"),
            id_header=self.option("id_header"),
        )

    def look_up(self, query: Query, deadline: float) -> Iterator[Finding]:
        template = self.option("look_up_url")
        if not template:
            return
        url = template.replace("{key}", quote(query.key, safe="")).replace(
            "{recognizer}", quote(query.recognizer, safe="")
        )
        try:
            headers = bearer(self.secret()) if self.option("secret_as") == "bearer" else {}
        except (SecretError, ValueError) as error:
            yield Finding("key_lookup", "inconclusive", f"GET {url}", f"no credential: {error}")
            return
        answer = ask(
            url,
            deadline,
            headers,
            allow_private=self.option("allow_private"),
            ca_file=self.option("ca_file"),
        )
        authoritative = self.option("look_up_authoritative")
        yield found_or_absent("key_lookup", url, answer, authoritative=authoritative)


def sign(secrets: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The `webhook-signature` header: one `v1` signature per secret.

    Args:
        secrets: `whsec_` and base64, or any other text; several separated by spaces while a
            secret is being replaced.
        message_id: the `webhook-id`, here the idempotency key.
        timestamp: seconds since 1970, of this attempt.

    Raises:
        ValueError: if what follows `whsec_` is not base64 (the secret is not quoted).
    """
    signed = f"{message_id}.{timestamp}.".encode() + body
    digests = (hmac.digest(_key(one), signed, hashlib.sha256) for one in secrets.split())
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)


def _key(secret: str) -> bytes:
    encoded = secret.removeprefix("whsec_")
    if encoded == secret:
        return secret.encode()
    try:
        return base64.b64decode(encoded, validate=True)
    except ValueError:  # binascii.Error, or characters that are not ASCII
        raise ValueError("the credential's secret begins with whsec_ but is not base64") from None
