"""Discord: one message by a bot, found again by its visible line in the channel's messages.

With `enforce_nonce` it answers with the existing message where one of the last "few minutes" has
the same nonce. How long that is nobody says, so it counts as no window unless the operator names
one. Reading without READ_MESSAGE_HISTORY gives an empty list and no error.

Source: discord-api-docs @c98d64bc, message.mdx l.1081, 1092. Known by contract only.
"""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import ClassVar

from delivery.channels.answers import Reading, json_of, outcome_of
from delivery.channels.api import (
    ApiAdapter,
    Listing,
    api_settings,
    clock_of,
    rate_limited,
    scan_settings,
)
from delivery.channels.contract import Envelope, Finding, Introspection, Json, Query, Rendered
from delivery.channels.declaration import Declaration, KeyForm, Surface, Window
from delivery.channels.destinations import check_pattern
from delivery.channels.reading import PartialAnswer
from delivery.channels.scanning import Page, Seen, moment
from delivery.channels.settings import Settings, number
from delivery.channels.texts import VISIBLE_LINE, split_content, text_of, visible_line
from delivery.outcomes import Outcome
from ledgers.canonical import canonical_json

LIMIT = 2000
PAGE = 100
_API = "/api/v10"
_RIGHT = "the id of a channel, 17 to 20 digits"


class DiscordAdapter(ApiAdapter):
    """One message with a bot's token."""

    slug = "discord"
    known: ClassVar[Settings] = {
        **api_settings("https://discord.com"),
        **scan_settings(),
        "dedupe_window_s": number("Seconds for which a nonce is enforced.", default=0, most=600),
    }
    reading: ClassVar[Reading] = Reading()

    best: ClassVar[Mapping[str, Json]] = {"surface_complete": True, "dedupe_window_s": 120}

    def declare(self) -> Declaration:
        window_s = float(self.option("dedupe_window_s"))
        return Declaration(
            adapter=self.slug,
            key=KeyForm("body member nonce, with enforce_nonce", "token", 25),
            window=Window(window_s, "channel setting", "operator") if window_s else Window(),
            key_scope="credential" if window_s else "none",
            on_duplicate="200 with the existing message",
            on_mismatch="200 with the existing message: not detected",
            surface=Surface(
                "the channel's messages", self.option("surface_complete"), "READ_MESSAGE_HISTORY"
            ),
            recognizer_places=("last line",),
            refusals="400, 401, 403, 404, 405, 410, 413, 415, 422 are answered before acting",
            rate_limit_proves_rejection=True,
            ids_are_unique=True,
            processing_s=5.0,
            deadline_s=20.0,
            introspection="the bot's own name; a channel's permissions are not listed",
            # 10,000 invalid requests in ten minutes ban the sender's address.
            questions_per_minute=30.0,
            scopes=("SEND_MESSAGES", "READ_MESSAGE_HISTORY"),
            met="contract only",
        )

    def normalise(self, destination: str) -> str:
        return check_pattern(destination.strip(), r"[1-9][0-9]{16,19}", _RIGHT)

    def check_content(self, content: Json) -> None:
        text_of(content)

    def split(self, content: Json) -> list[Json]:
        return split_content(content, LIMIT - VISIBLE_LINE, "utf16")

    def render(self, envelope: Envelope) -> Rendered:
        shown = text_of(envelope.content)
        message = {
            "allowed_mentions": {"parse": []},
            "content": f"{shown}\n{visible_line(envelope.recognizer, envelope.marker)}",
            "enforce_nonce": True,
            "nonce": envelope.key,
        }
        return Rendered(canonical_json(message, "content").encode(), envelope.destination)

    def headers(self, secret: str) -> dict[str, str]:
        if not (secret.isascii() and secret.isprintable()):
            raise ValueError("the credential's secret has a character that no header can carry")
        agent = "DiscordBot (counterfoil, 1)"
        return {"Authorization": f"Bot {secret}", "User-Agent": agent}

    def path(self, rendered: Rendered, key: str, secret: str) -> str:
        del key, secret
        return f"{_API}/channels/{rendered.destination}/messages"

    def outcome(self, answer: PartialAnswer, secret: str) -> Outcome:
        if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            said = json_of(answer)
            return rate_limited(
                answer, said.get("retry_after") if isinstance(said, dict) else None, secret
            )
        return outcome_of(answer, self.reading, [secret])

    def look_up(self, query: Query, deadline: float) -> Iterator[Finding]:
        surface = self.declare().surface
        if surface is None:
            return
        me = self.introspect(deadline)
        path = f"{_API}/channels/{query.destination}/messages"

        def page(cursor: str | None) -> Page | str:
            if not me.identity:
                return f"who reads is not known: {me.why}"
            more = {"before": cursor} if cursor else {}
            said = self.told(path, deadline, {"limit": PAGE, **more})
            if isinstance(said, str):
                return said
            messages = tuple(_seen(one) for one in said)
            return Page(
                messages=messages,
                next=messages[-1].id if len(messages) == PAGE else None,
                reader=me.identity,
                may_read=bool(messages),  # without the permission the list is empty
                whole_history=True,
            )

        yield from self.scanned(query, surface, Listing(f"{path}?limit={PAGE}", page))

    def introspect(self, deadline: float) -> Introspection:
        answer = self.ask(f"{_API}/users/@me", deadline)
        if isinstance(answer, str):
            return Introspection(why=answer)
        said = json_of(answer)
        if answer.status_code != HTTPStatus.OK or not isinstance(said, dict):
            refused = answer.status_code == HTTPStatus.UNAUTHORIZED
            return Introspection(refused=refused, why=f"answered {answer.status_code}")
        return Introspection(identity=str(said.get("id", "")), clock=clock_of(answer))


def _seen(one: Mapping[str, Json]) -> Seen:
    return Seen(one["id"], one["author"]["id"], moment(one["timestamp"]), one["content"])
