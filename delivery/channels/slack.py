"""Slack: one message by `chat.postMessage`, found again by its metadata in the history.

It honours no key. It answers 200 to almost everything and says in the body whether it agreed; two
of its errors, `internal_error` and `fatal_error`, admit that some of it may have happened.

Sources: slack_sdk 3.48.0, @slack/web-api 8.2.0 (methods, errors, scope headers); docs.slack.dev
(metadata, history, limits). Known by contract only.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import ClassVar

from delivery.channels.answers import json_of, kept_text
from delivery.channels.api import (
    ApiAdapter,
    Listing,
    api_settings,
    clock_of,
    place_setting,
    rate_limited,
    said_no,
    scan_settings,
    unclear,
)
from delivery.channels.contract import Envelope, Finding, Introspection, Json, Query, Rendered
from delivery.channels.declaration import Declaration, Surface
from delivery.channels.destinations import check_pattern
from delivery.channels.reading import PartialAnswer
from delivery.channels.scanning import Page, Seen
from delivery.channels.settings import Settings
from delivery.channels.texts import VISIBLE_LINE, split_content, text_of
from delivery.outcomes import Accepted, Outcome, Unauthorised
from ledgers.canonical import canonical_json

EVENT = "counterfoil"
LIMIT = 4000  # characters: the length that Slack advises for `text`
_ADMITS_DOUBT = frozenset({"internal_error", "fatal_error", "service_unavailable"})
_RIGHT = "the id of a conversation, such as C0123ABCDEF"
# Named by the method's own list of errors, each answered before anything is posted.
_REFUSES = frozenset(
    {
        "access_denied", "as_user_not_supported", "cannot_reply_to_message",
        "channel_is_limited_access", "channel_not_found", "deprecated_endpoint",
        "ekm_access_denied", "invalid_arg_name", "invalid_arguments", "invalid_array_arg",
        "invalid_blocks", "invalid_charset", "invalid_form_data",
        "invalid_metadata_format", "invalid_metadata_schema", "invalid_post_type", "is_archived",
        "metadata_too_large", "method_deprecated", "missing_post_type",
        "msg_too_long", "no_permission", "no_text", "not_allowed_token_type",
        "not_in_channel", "org_login_required", "request_timeout", "restricted_action",
        "team_access_not_granted", "team_added_to_org",
    }
)  # fmt: skip
# About the token, whatever the message: answered before anything is posted as well.
_NO_TOKEN = frozenset(
    {"account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"}
)


class SlackAdapter(ApiAdapter):
    """One `chat.postMessage` with a bot's token."""

    slug = "slack"
    known: ClassVar[Settings] = {
        **api_settings("https://slack.com"),
        **place_setting(),
        **scan_settings(),
    }

    best: ClassVar[Mapping[str, Json]] = {"surface_complete": True}

    def declare(self) -> Declaration:
        place = self.option("recognizer_place")
        return Declaration(
            adapter=self.slug,
            on_duplicate="a second message",
            surface=Surface(
                "the conversation's history", self.option("surface_complete"), "*:history"
            ),
            recognizer_places=tuple(
                where
                for where, without in (("message metadata", "visible"), ("last line", "hidden"))
                if place != without
            ),
            refusals="200 with ok: false and an error that is answered before acting",
            rate_limit_proves_rejection=True,
            ids_are_unique=True,
            processing_s=5.0,
            deadline_s=20.0,
            introspection="auth.test and its x-oauth-scopes header",
            questions_per_minute=50.0,
            scopes=("chat:write", "channels:history"),
            met="contract only",
        )

    def normalise(self, destination: str) -> str:
        return check_pattern(destination.strip().upper(), r"[CDG][A-Z0-9]{8,20}", _RIGHT)

    def check_content(self, content: Json) -> None:
        text_of(content)

    def split(self, content: Json) -> list[Json]:
        return split_content(content, LIMIT - VISIBLE_LINE, "code_points")

    def render(self, envelope: Envelope) -> Rendered:
        shown = self.with_line(text_of(envelope.content), envelope.recognizer, envelope.marker)
        message: dict[str, Json] = {"channel": envelope.destination, "text": shown}
        if self.option("recognizer_place") != "visible":
            message["metadata"] = {
                "event_type": EVENT,
                "event_payload": {"ref": envelope.recognizer},
            }
        return Rendered(canonical_json(message, "content").encode(), envelope.destination)

    def path(self, rendered: Rendered, key: str, secret: str) -> str:
        del rendered, key, secret
        return "/api/chat.postMessage"

    def outcome(self, answer: PartialAnswer, secret: str) -> Outcome:
        if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            return rate_limited(answer, None, secret)
        said = json_of(answer)
        if answer.status_code != HTTPStatus.OK or not isinstance(said, dict):
            return unclear(answer, f"{answer.status_code} proves nothing here", secret)
        if said.get("ok") is True:
            return Accepted(str(said.get("ts", ""))[:200], response=kept_text(answer, [secret]))
        return _denied(answer, said, secret)

    def look_up(self, query: Query, deadline: float) -> Iterator[Finding]:
        surface = self.declare().surface
        if surface is None:
            return
        me = self.introspect(deadline)
        may_read = any(scope.endswith(":history") for scope in me.scopes or ())
        asked: dict[str, Json] = {
            "channel": query.destination,
            "limit": 200,
            "include_all_metadata": "true",
        }

        def page(cursor: str | None) -> Page | str:
            if not me.identity:
                return f"who reads is not known: {me.why}"
            more = {"cursor": cursor} if cursor else {}
            said = self.told("/api/conversations.history", deadline, {**asked, **more})
            if isinstance(said, str) or said.get("ok") is not True:
                return said if isinstance(said, str) else f"ok: false, {said.get('error')}"
            following = said.get("response_metadata", {}).get("next_cursor") or None
            return Page(
                messages=tuple(_seen(one) for one in said["messages"]),
                next=following if said.get("has_more") else None,
                reader=me.identity,
                may_read=may_read,
                whole_history=True,
            )

        url = f"/api/conversations.history?channel={query.destination}&include_all_metadata=true"
        yield from self.scanned(query, surface, Listing(url, page))

    def introspect(self, deadline: float) -> Introspection:
        answer = self.ask("/api/auth.test", deadline)
        if isinstance(answer, str):
            return Introspection(why=answer)
        said = json_of(answer)
        if not isinstance(said, dict) or said.get("ok") is not True:
            error = said.get("error") if isinstance(said, dict) else answer.status_code
            return Introspection(refused=error in _NO_TOKEN, why=f"auth.test says {error}")
        scopes = answer.headers.get("x-oauth-scopes")
        return Introspection(
            identity=str(said.get("bot_id") or said.get("user_id") or ""),
            scopes=_names(scopes) if scopes else None,
            clock=clock_of(answer),
        )


def _denied(answer: PartialAnswer, said: Mapping[str, Json], secret: str) -> Outcome:
    """What an `ok: false` proves."""
    error = str(said.get("error", ""))
    if error in {"ratelimited", "rate_limited"}:
        return rate_limited(answer, None, secret)
    if error in _NO_TOKEN or error == "missing_scope":
        return _unauthorised(said, error, kept_text(answer, [secret]))
    if error in _REFUSES:
        return said_no(answer, f"ok: false, {error}", secret)
    why = "says that some of it may have happened" if error in _ADMITS_DOUBT else "is not known"
    return unclear(answer, f"ok: false, and the error {error or 'without a name'} {why}", secret)


def _unauthorised(said: Mapping[str, Json], error: str, response: str) -> Unauthorised:
    """Which scopes it lacks, in the answer's own words where it has some."""
    return Unauthorised(
        f"ok: false, {error}",
        needed=_names(said.get("needed")) if error == "missing_scope" else (),
        granted=_names(said.get("provided")),
        response=response,
    )


def _names(listed: Json) -> tuple[str, ...]:
    names = listed if isinstance(listed, str) else ""
    return tuple(filter(None, names.replace(" ", "").split(",")))


def _seen(one: Mapping[str, Json]) -> Seen:
    metadata = one.get("metadata") or {}
    ours = metadata.get("event_type") == EVENT
    return Seen(
        id=one["ts"],
        author=str(one.get("bot_id") or one.get("user") or ""),
        at=datetime.fromtimestamp(float(one["ts"]), UTC),
        text=str(one.get("text", "")),
        hidden=str(metadata.get("event_payload", {}).get("ref", "")) if ours else "",
    )
