"""What the recipient shows to those who look: by key, by id, and page by page."""

import json
from datetime import UTC, datetime
from typing import Any

from delivery.simulator.recipient import Answer, Recipient
from delivery.simulator.store import Shown

CONTROL_AUTHOR = "system"


class Looking:
    """Answers look-ups, as truly or as falsely as the settings say."""

    def __init__(self, recipient: Recipient) -> None:
        self._recipient = recipient

    def at(self, path: str, query: dict[str, str], author: str) -> Answer:
        """The answer to one GET. Raises KeyError where a query parameter is missing."""
        if path == "/v1/look_up":
            return self._by_key(query["key"], query.get("to"))
        if path == "/v1/messages":
            return self._page(query, author)
        if path == "/v1/whoami":
            may = ["read_history"] if self._recipient.settings("").may_read else []
            return _json(200, {"author": author, "may": may})
        if path.startswith("/v1/messages/"):
            return self._by_id(path.rpartition("/")[2])
        return _json(404, {"error": "no such page"})

    def _by_key(self, key: str, to: str | None) -> Answer:
        known = self._recipient.store.by_key.get(key, [])
        return self._one([one for one in known if to is None or one.to == to])

    def _by_id(self, message_id: str) -> Answer:
        one = self._recipient.store.by_id.get(message_id)
        return self._one([] if one is None else [one])

    def _one(self, known: list[Shown]) -> Answer:
        for one in known:
            told = self._recipient.settings(one.to).look_up
            if told == "error":
                return _json(500, {"error": "look-up failed"})
            if told == "ok" and self._is_visible(one):
                return _json(200, {"found": True, **_shown(one)})
        return _json(404, {"found": False})

    def _is_visible(self, one: Shown) -> bool:
        settings, now = self._recipient.settings(one.to), self._recipient.now()
        if one.at + settings.visible_after_s > now:
            return False
        return not settings.history_s or one.at > now - settings.history_s

    def _page(self, query: dict[str, str], author: str) -> Answer:
        to = query["to"]
        settings = self._recipient.settings(to)
        if settings.listing == "error":
            return _json(500, {"error": "the list is not available"})
        every = [] if settings.listing == "empty" else self._surface(to)
        size = min(int(query.get("limit", settings.page_size)), settings.page_size)
        start = int(query.get("before", 0))
        following = start + size
        return _json(
            200,
            {
                "messages": [_shown(one) for one in every[start:following]],
                "next": str(following) if following < len(every) else None,
                "whole_history": not settings.history_s,
                "reader": {
                    "author": author,
                    "may": ["read_history"] if settings.may_read else [],
                },
            },
        )

    def _surface(self, to: str) -> list[Shown]:
        """All that can be seen at `to`, newest first; its first message is always there."""
        store = self._recipient.store
        first = Shown(f"control-{to}", to, CONTROL_AUTHOR, store.created, "control", "")
        seen = [one for one in store.shown.get(to, ()) if self._is_visible(one)]
        return sorted([first, *seen], key=lambda one: (one.at, one.id), reverse=True)


def _shown(one: Shown) -> dict[str, Any]:
    return {
        "id": one.id,
        "to": one.to,
        "author": one.author,
        "at": datetime.fromtimestamp(one.at, UTC).isoformat(),
        "text": one.text,
        "recognizer": one.recognizer,
    }


def _json(status: int, value: Any) -> Answer:
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json"})
