"""Matrix: one message by PUT under a transaction id, found again in the room's history.

The transaction id is the key: the same PUT from the same device gives the first one's event again,
and the body of the second is ignored. The specification leaves open for how long. Synapse 1.163.2
was measured to keep ids over a restart, in rows that it removes after 24 hours; other servers keep
them in memory only, where 30 minutes is the shortest time that was found. So 30 minutes is the
default, and whoever knows the server may say more, or 0. An access token belongs to one device for
as long as it lives, so the credential's fingerprint stands for the device: a new token voids the
key.

Sources: matrix-spec @d0ba2aae, client-server API (send, messages, whoami, errors);
matrix-synapse 1.163.2, met in person (tests/real/test_matrix.py).
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import ClassVar
from urllib.parse import quote

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
from delivery.channels.declaration import Declaration, KeyForm, Surface, Window
from delivery.channels.destinations import check_pattern
from delivery.channels.reading import PartialAnswer
from delivery.channels.scanning import CLOCK_TOLERANCE, Page, Seen
from delivery.channels.settings import Settings, choice, is_line, number, text
from delivery.channels.texts import split_content, text_of
from delivery.outcomes import Accepted, Outcome, Unauthorised
from ledgers.canonical import canonical_json

REF = "org.counterfoil.ref"
WINDOW_S = 1800.0
# Characters; at most 6 bytes each as JSON, and an event may have 65,536 bytes in all.
LIMIT = 10_000
PAGE = 100
_CLIENT = "/_matrix/client/v3"
_RIGHT = "a room's id, such as !abcdef:example.org (an alias may come to mean another room)"
# Answered before an event is made. M_UNKNOWN is not among them: it may mean anything.
_REFUSES = frozenset(
    {
        "M_BAD_JSON", "M_CANNOT_LEAVE_SERVER_NOTICE_ROOM", "M_CONSENT_NOT_GIVEN", "M_FORBIDDEN",
        "M_GUEST_ACCESS_FORBIDDEN", "M_INVALID_PARAM", "M_MISSING_PARAM", "M_NOT_FOUND",
        "M_NOT_JSON", "M_RESOURCE_LIMIT_EXCEEDED", "M_TOO_LARGE", "M_UNRECOGNIZED",
    }
)  # fmt: skip

# About the token or its user, whatever the message.
_NO_TOKEN = frozenset(
    {
        "M_MISSING_TOKEN",
        "M_UNKNOWN_TOKEN",
        "M_USER_DEACTIVATED",
        "M_USER_LOCKED",
        "M_USER_SUSPENDED",
    }
)


class MatrixAdapter(ApiAdapter):
    """One `m.room.message` with a device's access token."""

    slug = "matrix"
    method: ClassVar[str] = "PUT"
    known: ClassVar[Settings] = {
        **api_settings(""),
        **place_setting(),
        **scan_settings(),
        "msgtype": choice("A message, or a notice that bots do not answer.", "m.text", "m.notice"),
        "dedupe_window_s": number(
            "Seconds for which the server keeps a device's transaction ids.", default=WINDOW_S
        ),
        "dedupe_window_source": text(
            "Where that is written.",
            default="the shortest that was found on servers; the specification names none",
            right="one line",
            is_right=is_line,
        ),
    }

    best: ClassVar[Mapping[str, Json]] = {
        "surface_complete": True,
        "dedupe_window_s": 86_400,
        "dedupe_window_source": "Synapse, _cleanup_old_transaction_ids",
    }

    def declare(self) -> Declaration:
        return Declaration(
            adapter=self.slug,
            key=KeyForm("the transaction id in the path"),
            window=self._window(),
            key_scope="device" if self._window().seconds else "none",
            on_duplicate="200 with the first one's event_id",
            on_mismatch="200 with the first one's event_id: not detected",
            on_in_flight="waits for the first one and gives its event_id (Synapse)",
            surface=Surface(
                "the room's history",
                self.option("surface_complete"),
                "a member's view, with nothing of ours redacted",
            ),
            recognizer_places=tuple(
                where
                for where, without in ((f"content key {REF}", "visible"), ("last line", "hidden"))
                if self.option("recognizer_place") != without
            ),
            refusals="4xx with an errcode of the specification but M_UNKNOWN",
            rate_limit_proves_rejection=True,
            ids_are_unique=True,
            processing_s=5.0,
            deadline_s=20.0,
            introspection="account/whoami: the user; what a room allows them is not listed",
            questions_per_minute=60.0,
            met="real server",
        )

    def _window(self) -> Window:
        seconds = float(self.option("dedupe_window_s"))
        if not seconds:
            return Window()
        named = "dedupe_window_s" in self.settings
        source = self.option("dedupe_window_source")
        return Window(seconds, source, "operator" if named else "measured")

    def normalise(self, destination: str) -> str:
        return check_pattern(destination.strip(), r"![\x21-\x7e]{1,254}", _RIGHT)

    def check_content(self, content: Json) -> None:
        text_of(content)

    def split(self, content: Json) -> list[Json]:
        return split_content(content, LIMIT, "code_points")

    def render(self, envelope: Envelope) -> Rendered:
        event = {
            "msgtype": self.option("msgtype"),
            "body": self.with_line(text_of(envelope.content), envelope.recognizer, envelope.marker),
        }
        if self.option("recognizer_place") != "visible":
            event[REF] = envelope.recognizer
        return Rendered(canonical_json(event, "content").encode(), envelope.destination)

    def path(self, rendered: Rendered, key: str, secret: str) -> str:
        del secret
        return f"{_room(rendered.destination)}/send/m.room.message/{quote(key, safe='')}"

    def outcome(self, answer: PartialAnswer, secret: str) -> Outcome:
        status, said = answer.status_code, json_of(answer)
        named = said if isinstance(said, dict) else {}
        if 200 <= status < 300:  # also where the body broke off: there is no other meaning
            event_id = str(named.get("event_id", ""))[:200]
            return Accepted(event_id, response=kept_text(answer, [secret]))
        errcode = str(named.get("errcode", ""))
        if errcode == "M_LIMIT_EXCEEDED" or status == HTTPStatus.TOO_MANY_REQUESTS:
            wait_ms: Json = named.get("retry_after_ms")
            is_number = isinstance(wait_ms, int | float) and not isinstance(wait_ms, bool)
            return rate_limited(answer, wait_ms / 1000 if is_number else None, secret)
        if 400 <= status < 500 and errcode in _NO_TOKEN:
            return Unauthorised(f"{status} {errcode}", response=kept_text(answer, [secret]))
        if 400 <= status < 500 and errcode in _REFUSES:
            return said_no(answer, f"{status} {errcode}", secret)
        return unclear(answer, f"{status} {errcode} proves nothing about acceptance", secret)

    def look_up(self, query: Query, deadline: float) -> Iterator[Finding]:
        surface = self.declare().surface
        if surface is None:
            return
        me = self.introspect(deadline)
        path = f"{_room(query.destination)}/messages"
        asked: dict[str, Json] = {"dir": "b", "limit": PAGE}
        reading = _Reading(query, me.identity)

        def page(cursor: str | None) -> Page | str:
            if not me.identity:
                return f"who reads is not known: {me.why}"
            said = self.told(path, deadline, {**asked, **({"from": cursor} if cursor else {})})
            return said if isinstance(said, str) else reading.page(said)

        yield from self.scanned(query, surface, Listing(f"{path}?dir=b&limit={PAGE}", page))

    def introspect(self, deadline: float) -> Introspection:
        answer = self.ask(f"{_CLIENT}/account/whoami", deadline)
        if isinstance(answer, str):
            return Introspection(why=answer)
        said = json_of(answer)
        if answer.status_code != HTTPStatus.OK or not isinstance(said, dict):
            refused = answer.status_code == HTTPStatus.UNAUTHORIZED
            return Introspection(refused=refused, why=f"answered {answer.status_code}")
        # Not the device: a new one is the same account, and its token voids the keys by itself.
        return Introspection(identity=str(said.get("user_id", "")), clock=clock_of(answer))


class _Reading:
    """One reading of a room, from its newest event back.

    Events of other servers carry those servers' clocks: one that is wrong could make the scan
    believe that it has covered the time. They count as old as the last of our own server's.
    """

    def __init__(self, query: Query, user: str) -> None:
        self._query = query
        self._user = user
        self._server = user.partition(":")[2]
        self._at = datetime.now(UTC)
        self._whole = False

    def page(self, said: Mapping[str, Json]) -> Page:
        events = said["chunk"]
        seen = tuple(self._seen(one) for one in events)
        self._whole |= any(one["type"] == "m.room.create" for one in events)
        return Page(
            messages=seen,
            next=said.get("end"),
            reader=self._user,
            may_read=not any(map(self._is_gone, events)),
            whole_history=self._whole,
        )

    def _seen(self, one: Mapping[str, Json]) -> Seen:
        if one["sender"].partition(":")[2] == self._server:
            self._at = _moment(one)
        content = one["content"]
        # Told only to the device that sent it, and kept where the content is not.
        ours = one.get("unsigned", {}).get("transaction_id") == self._query.key
        return Seen(
            id=one["event_id"],
            author=one["sender"],
            at=self._at,
            text=str(content.get("body", "")),
            hidden=self._query.recognizer if ours else str(content.get(REF, "")),
        )

    def _is_gone(self, one: Mapping[str, Json]) -> bool:
        """Whether this was a message of ours, of the time that matters, and may have been it."""
        return (
            "redacted_because" in one.get("unsigned", {})
            and one["sender"] == self._user
            and _moment(one) >= self._query.since - CLOCK_TOLERANCE
        )


def _moment(event: Mapping[str, Json]) -> datetime:
    return datetime.fromtimestamp(event["origin_server_ts"] / 1000, UTC)


def _room(room: str) -> str:
    return f"{_CLIENT}/rooms/{quote(room, safe='')}"
