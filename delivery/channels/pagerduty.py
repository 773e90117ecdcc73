"""PagerDuty: one alert by the Events API. Its key names the alert, and only while that is open.

`dedup_key` is honoured until somebody resolves the alert, which may be the next minute: no time can
be promised, so it counts as no window unless the operator names one. The routing key, which is the
secret, stands in the body and is put there at the last moment.

Source: PagerDuty/developer-docs @9422439, 02-Trigger-Events.md l.19-51. Known by contract only.
"""

import json
from collections.abc import Mapping
from typing import ClassVar

from delivery.channels.answers import Reading
from delivery.channels.api import ApiAdapter, api_settings
from delivery.channels.contract import Envelope, Json, Rendered
from delivery.channels.declaration import Declaration, KeyForm, Window
from delivery.channels.destinations import check_pattern
from delivery.channels.settings import Settings, choice, number
from delivery.channels.texts import text_of
from delivery.errors import BadContentError
from ledgers.canonical import canonical_json

LIMIT = 1024  # characters of a summary
_RIGHT = "what is affected: a host's or a service's name, such as db-3.example.com"


class PagerdutyAdapter(ApiAdapter):
    """One `trigger` event with an integration's routing key."""

    slug = "pagerduty"
    known: ClassVar[Settings] = {
        **api_settings("https://events.pagerduty.com"),
        "severity": choice("How bad it is.", "error", "critical", "warning", "info"),
        "dedupe_window_s": number("Seconds for which alerts stay open at least.", default=0),
    }
    reading: ClassVar[Reading] = Reading(refusals=frozenset({400}), id_field="dedup_key")

    best: ClassVar[Mapping[str, Json]] = {"dedupe_window_s": 3600}

    def declare(self) -> Declaration:
        window_s = float(self.option("dedupe_window_s"))
        return Declaration(
            adapter=self.slug,
            key=KeyForm("body member dedup_key"),
            window=Window(window_s, "channel setting", "operator") if window_s else Window(),
            key_scope="credential" if window_s else "none",
            on_duplicate="202, and the open alert is updated; a new alert after it was resolved",
            on_mismatch="202, and the open alert is updated: not detected",
            recognizer_places=("custom_details",),
            refusals="400",
            rate_limit_proves_rejection=True,
            processing_s=60.0,
            deadline_s=20.0,
            introspection="none",
            met="contract only",
        )

    def normalise(self, destination: str) -> str:
        return check_pattern(destination.strip().lower(), r"[a-z0-9][a-z0-9._:/-]{0,199}", _RIGHT)

    def check_content(self, content: Json) -> None:
        if len(text_of(content)) > LIMIT:
            raise BadContentError(
                "content", f"has more than {LIMIT} characters", "one sentence that fits in a page"
            )

    def render(self, envelope: Envelope) -> Rendered:
        details = {"ref": envelope.recognizer}
        if envelope.marker:
            details["resend"] = envelope.marker
        event = {
            "dedup_key": envelope.key,
            "event_action": "trigger",
            "payload": {
                "custom_details": details,
                "severity": self.option("severity"),
                "source": envelope.destination,
                "summary": text_of(envelope.content),
            },
        }
        return Rendered(canonical_json(event, "content").encode(), envelope.destination)

    def headers(self, secret: str) -> dict[str, str]:
        if not (secret.isascii() and secret.isalnum()):
            raise ValueError("the credential's secret has not the form of a routing key")
        return {}

    def body(self, rendered: Rendered, secret: str) -> bytes:
        event = {**json.loads(rendered.body), "routing_key": secret}
        return canonical_json(event, "content").encode()

    def path(self, rendered: Rendered, key: str, secret: str) -> str:
        del rendered, key, secret
        return "/v2/enqueue"
