"""Telegram: one message by a bot. It honours no key, and a bot cannot list what it has sent.

So a lost answer can only be settled by a person who looks into the chat. The token is part of the
address: it is taken out of everything that is kept.

Sources: core.telegram.org/bots/api (sendMessage, ResponseParameters); python-telegram-bot 22.8.
Known by contract only.
"""

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
from delivery.channels.contract import Envelope, Introspection, Json, Rendered
from delivery.channels.declaration import Declaration
from delivery.channels.destinations import check_pattern
from delivery.channels.reading import PartialAnswer
from delivery.channels.settings import Settings
from delivery.channels.texts import VISIBLE_LINE, split_content, text_of, visible_line
from delivery.outcomes import Accepted, Outcome, Unauthorised
from ledgers.canonical import canonical_json

LIMIT = 4096  # UTF-16 code units
_RIGHT = "the id of a chat, such as -1001234567890, or a public channel, such as @counterfoil"
_REFUSALS = frozenset({400, 403, 413})
# The method is part of every path: what is not found is the bot.
_NOT_A_TOKEN = frozenset({401, 404})


class TelegramAdapter(ApiAdapter):
    """One `sendMessage` with a bot's token."""

    slug = "telegram"
    known: ClassVar[Settings] = api_settings("https://api.telegram.org")

    def declare(self) -> Declaration:
        return Declaration(
            adapter=self.slug,
            on_duplicate="a second message",
            recognizer_places=("last line",),
            refusals="ok: false with 400, 401, 403, 404 or 413",
            rate_limit_proves_rejection=True,
            ids_are_unique=True,
            deadline_s=20.0,
            introspection="getMe names the bot; its rights in a chat are not listed",
            scopes=("can_post_messages",),
            met="contract only",
        )

    def normalise(self, destination: str) -> str:
        named = destination.strip().lower()
        return check_pattern(named, r"-?[1-9][0-9]{4,18}|@[a-z][a-z0-9_]{3,31}", _RIGHT)

    def check_content(self, content: Json) -> None:
        text_of(content)

    def split(self, content: Json) -> list[Json]:
        return split_content(content, LIMIT - VISIBLE_LINE, "utf16")

    def render(self, envelope: Envelope) -> Rendered:
        line = visible_line(envelope.recognizer, envelope.marker)
        message = {
            "chat_id": envelope.destination,
            "link_preview_options": {"is_disabled": True},
            "text": f"{text_of(envelope.content)}\n{line}",
        }
        return Rendered(canonical_json(message, "content").encode(), envelope.destination)

    def headers(self, secret: str) -> dict[str, str]:
        _path_part(secret)
        return {}

    def path(self, rendered: Rendered, key: str, secret: str) -> str:
        del rendered, key
        return f"/bot{_path_part(secret)}/sendMessage"

    def outcome(self, answer: PartialAnswer, secret: str) -> Outcome:
        said = json_of(answer)
        body = said if isinstance(said, dict) else {}
        status = answer.status_code
        if status == HTTPStatus.OK and body.get("ok") is True:
            result = body.get("result")
            named = str(result.get("message_id", "")) if isinstance(result, dict) else ""
            return Accepted(named[:200], response=kept_text(answer, [secret]))
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            told = body.get("parameters")
            wait_s = told.get("retry_after") if isinstance(told, dict) else None
            return rate_limited(answer, wait_s, secret)
        if body.get("ok") is False and status in _NOT_A_TOKEN:
            why = f"{status}: {body.get('description', '')}"
            return Unauthorised(why[:300], response=kept_text(answer, [secret]))
        if body.get("ok") is False and status in _REFUSALS:
            return said_no(answer, f"{status}: {body.get('description', '')}", secret)
        return unclear(answer, f"{status} proves nothing here", secret)

    def introspect(self, deadline: float) -> Introspection:
        secret = self.secret()
        answer = self.ask(f"/bot{_path_part(secret)}/getMe", deadline) if secret else "no secret"
        if isinstance(answer, str):
            return Introspection(why=answer)
        said = json_of(answer)
        if answer.status_code != HTTPStatus.OK or not isinstance(said, dict):
            refused = answer.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND}
            return Introspection(refused=refused, why=f"answered {answer.status_code}")
        me = said.get("result")
        named = str(me.get("username", "")) if isinstance(me, dict) else ""
        return Introspection(identity=named, clock=clock_of(answer))


def _path_part(secret: str) -> str:
    """A token as part of a path.

    Raises:
        ValueError: if it has another form than `123456:ABC…` (it is not quoted).
    """
    number, colon, rest = secret.partition(":")
    plain = rest.replace("-", "").replace("_", "")
    if not (number.isdigit() and colon and plain.isascii() and plain.isalnum()):
        raise ValueError("the credential's secret has not the form of a bot's token")
    return secret
