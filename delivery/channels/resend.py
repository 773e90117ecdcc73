"""Resend: mail by HTTP, with an idempotency key for a day and reports by webhook.

A repeated request with the same key gives the first one's id. A mail can be asked for by its id
only, and that is what a lost answer did not tell; so the key is the way to learn it.

Source: resend.com/docs (idempotency keys, errors, webhooks), resend-openapi @fd6f395. The names of
the two kinds of 409 were not verified; another name proves nothing. Known by contract only.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import ClassVar

from delivery.channels.answers import Reading, json_of, outcome_of
from delivery.channels.api import ApiAdapter, api_settings
from delivery.channels.contract import Envelope, Json, Posted, Receipt, Rendered
from delivery.channels.declaration import Declaration, KeyForm, Window
from delivery.channels.mail_addresses import is_address, normalise_address
from delivery.channels.mail_content import check_mail_content, read_mail_content
from delivery.channels.mime import REF_HEADER
from delivery.channels.reading import PartialAnswer
from delivery.channels.receipts import header_in, json_report, reported_at, verify_standard_webhook
from delivery.channels.secrets import read_secret
from delivery.channels.settings import Settings, is_line, text
from delivery.channels.texts import visible_line
from delivery.outcomes import Outcome
from ledgers.canonical import canonical_json

_DAY_S = 86_400.0
_CONFLICTS = {
    "invalid_idempotent_request": Reading(conflict="mismatch"),
    "concurrent_idempotent_requests": Reading(conflict="in_flight"),
}
_KINDS = {
    "email.sent": "accepted",
    "email.delivered": "delivered",
    "email.bounced": "bounced",
    "email.complained": "complained",
    "email.failed": "failed",
}


class ResendAdapter(ApiAdapter):
    """One mail to one address."""

    slug = "resend"
    known: ClassVar[Settings] = {
        **api_settings("https://api.resend.com"),
        "sender": text(
            "The address mail comes from.",
            right="a mail address in lower case, such as agent@example.com",
            is_right=is_address,
            required=True,
        ),
        "subject": text(
            "For content without a subject.", default="Message", right="one line", is_right=is_line
        ),
        "receipt_secret_ref": text(
            "Where the secret of its webhooks is read: env:NAME or file:/path.",
            right="env:NAME or file:/absolute/path",
            is_right=lambda ref: ref.startswith(("env:", "file:/")),
        ),
    }

    def declare(self) -> Declaration:
        return Declaration(
            adapter=self.slug,
            key=KeyForm("header Idempotency-Key", max_length=256),
            window=Window(_DAY_S, "resend.com/docs, idempotency keys", "documented"),
            key_scope="credential",
            on_duplicate="200 with the first one's id",
            on_mismatch="409 invalid_idempotent_request",
            on_in_flight="409 concurrent_idempotent_requests",
            recognizer_places=(f"header {REF_HEADER}", "last line"),
            refusals="400, 401, 403, 404, 405, 410, 413, 415, 422 are answered before acting",
            rate_limit_proves_rejection=True,
            ids_are_unique=True,
            deadline_s=20.0,
            introspection="none",
            scopes=("sending_access",),
            receipts="webhooks, signed as Standard Webhooks",
            met="contract only",
        )

    def normalise(self, destination: str) -> str:
        return normalise_address(destination)

    def check_content(self, content: Json) -> None:
        check_mail_content(content)

    def render(self, envelope: Envelope) -> Rendered:
        said = read_mail_content(envelope.content, self.option("subject"))
        line = visible_line(envelope.recognizer, envelope.marker)
        mail = {
            "from": self.option("sender"),
            "headers": {REF_HEADER: envelope.recognizer},
            "subject": said.subject,
            "text": f"{said.text}\n\n{line}",
            "to": [envelope.destination],
        }
        if said.html:
            mail["html"] = f"{said.html}\n<p>{line}</p>"
        return Rendered(canonical_json(mail, "content").encode(), envelope.destination)

    def key_headers(self, key: str) -> Mapping[str, str]:
        return {"Idempotency-Key": key}

    def path(self, rendered: Rendered, key: str, secret: str) -> str:
        del rendered, key, secret
        return "/emails"

    def outcome(self, answer: PartialAnswer, secret: str) -> Outcome:
        reading = self.reading
        if answer.status_code == HTTPStatus.CONFLICT:
            said = json_of(answer)
            name = said.get("name") if isinstance(said, dict) else None
            reading = _CONFLICTS.get(str(name), reading)
        return outcome_of(answer, reading, [secret])

    def classify_receipt(self, posted: Posted) -> Sequence[Receipt]:
        verify_standard_webhook(posted, read_secret(self.option("receipt_secret_ref")), "svix")
        said = json_report(posted)
        kind = _KINDS.get(str(said.get("type")))
        data = said.get("data")
        if kind is None or not isinstance(data, dict):
            return []
        return [
            Receipt(
                kind=kind,  # type: ignore[arg-type]  # from a table of these
                receipt_id=posted.headers.get("svix-id", ""),
                provider_message_id=str(data.get("email_id", "")),
                recognizer=header_in(data.get("headers"), REF_HEADER),
                at=reported_at(said.get("created_at")),
                said=str(said.get("type")),
            )
        ]
