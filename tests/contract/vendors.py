"""The vendors that are known by contract: their shapes, keys, lists and permissions."""

import base64
import html
import json
import re
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from tests.contract.vendor import SECRET, Answer, Ask, Entry, Vendor


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Slack(Vendor):
    """Shapes: slack_sdk 3.48.0. Newest first, cursors, metadata on request."""

    def submission(self, ask: Ask) -> bool:
        return ask.path == "/api/chat.postMessage"

    def accept(self, ask: Ask) -> Answer:
        assert ask.headers["authorization"] == f"Bearer {SECRET}"
        said = ask.json
        entry = self.post(said["channel"], said)
        return Answer(200, {"ok": True, "channel": said["channel"], "ts": self._ts(entry)})

    def _ts(self, entry: Entry) -> str:
        return f"{entry.at.timestamp():.6f}"

    def read(self, ask: Ask) -> Answer:
        scopes = "chat:write,channels:history" if self.may_read else "chat:write"
        if ask.path == "/api/auth.test":
            said = {"ok": True, "user_id": "U1", "bot_id": self.me}
            return Answer(200, said, {"x-oauth-scopes": scopes})
        if not self.may_read:
            return Answer(
                200, {"ok": False, "error": "missing_scope", "needed": "channels:history"}
            )
        newest = sorted(self.at(ask.one("channel")), key=lambda one: one.at, reverse=True)
        start, limit = int(ask.one("cursor", "0")), min(int(ask.one("limit", "100")), 100)
        page, more = newest[start : start + limit], len(newest) > start + limit
        metadata = ask.one("include_all_metadata") in {"true", "1"}
        return Answer(
            200,
            {
                "ok": True,
                "has_more": more,
                "messages": [self._message(one, metadata) for one in page],
                "response_metadata": {"next_cursor": str(start + limit) if more else ""},
            },
        )

    def _message(self, one: Entry, metadata: bool) -> dict[str, Any]:
        # Slack escapes &, < and > and links what looks like a link.
        text = re.sub(r"(https?://\S+)", r"<\1>", html.escape(one.said["text"], quote=False))
        shown = {"type": "message", "ts": self._ts(one), "text": text}
        author = "bot_id" if one.author == self.me else "user"
        kept = {"metadata": one.said["metadata"]} if metadata and "metadata" in one.said else {}
        return {**shown, author: one.author, **kept}

    def foreign(self, where: str, text: str, recognizer: str) -> None:
        payload = {"event_type": "counterfoil", "event_payload": {"ref": recognizer}}
        said = {"channel": where, "text": text, **({"metadata": payload} if recognizer else {})}
        self.post(where, said, author="U9STRANGER")


class Discord(Vendor):
    """Shapes: discord-api-docs @c98d64bc. An empty list, and no error, without the permission."""

    me = "900000000000000001"

    def submission(self, ask: Ask) -> bool:
        return ask.method == "POST" and ask.path.endswith("/messages")

    def accept(self, ask: Ask) -> Answer:
        assert ask.headers["authorization"] == f"Bot {SECRET}"
        said = ask.json
        assert len(said["nonce"]) <= 25
        assert len(said["content"]) <= 2000
        earlier = self.known(said["nonce"]) if said.get("enforce_nonce") else None
        entry = earlier or self.post(ask.path.split("/")[4], said, key=said["nonce"])
        return Answer(200, self._message(entry))

    def _message(self, one: Entry) -> dict[str, Any]:
        return {
            "id": one.id,
            "content": one.said["content"].strip(),
            "timestamp": one.at.isoformat(),
            "author": {"id": one.author, "username": "counterfoil"},
        }

    def read(self, ask: Ask) -> Answer:
        if ask.path.endswith("/users/@me"):
            return Answer(200, {"id": self.me, "username": "counterfoil", "bot": True})
        newest = sorted(self.at(ask.path.split("/")[4]), key=lambda one: int(one.id), reverse=True)
        before = int(ask.one("before", "0")) or 10**20
        page = [one for one in newest if int(one.id) < before][: int(ask.one("limit", "50"))]
        return Answer(200, [self._message(one) for one in page] if self.may_read else [])

    def foreign(self, where: str, text: str, recognizer: str) -> None:
        self.post(where, {"content": f"{text}\n{recognizer}"}, author="900000000000000009")


class Telegram(Vendor):
    """Shapes: core.telegram.org/bots/api. Nothing that was sent can be listed."""

    token: ClassVar[str] = f"123456:{SECRET}"

    def submission(self, ask: Ask) -> bool:
        return ask.path == f"/bot{self.token}/sendMessage"

    def accept(self, ask: Ask) -> Answer:
        entry = self.post(str(ask.said["chat_id"]), ask.said)
        chat = {"id": -1001234567890, "type": "supergroup"}
        result = {"message_id": int(entry.id), "date": 1, "chat": chat}
        return Answer(200, {"ok": True, "result": result})

    def read(self, ask: Ask) -> Answer:
        assert ask.path == f"/bot{self.token}/getMe"
        me = {"id": 123456, "is_bot": True, "first_name": "C", "username": "counterfoil_bot"}
        return Answer(200, {"ok": True, "result": me})


class Github(Vendor):
    """Shapes: docs.github.com, 2022-11-28. From old to new, and `since` is by the last change."""

    me = "counterfoil-bot"

    def submission(self, ask: Ask) -> bool:
        return ask.method == "POST" and ask.path.endswith("/comments")

    def accept(self, ask: Ask) -> Answer:
        assert ask.headers["authorization"] in {f"Bearer {SECRET}", f"token {SECRET}"}
        assert ask.headers["user-agent"]
        return Answer(201, self._comment(self.post(ask.path, ask.json)))

    def _comment(self, one: Entry) -> dict[str, Any]:
        at = one.at.strftime("%Y-%m-%dT%H:%M:%SZ")
        body, user = one.said["body"].strip(), {"login": one.author}
        return {"id": int(one.id), "body": body, "user": user, "created_at": at, "updated_at": at}

    def read(self, ask: Ask) -> Answer:
        if ask.path == "/user":
            return Answer(200, {"login": self.me}, {"X-OAuth-Scopes": "repo, read:org"})
        if not self.may_read:
            return Answer(404, {"message": "Not Found"})
        since = datetime.fromisoformat(ask.one("since"))
        listed = [one for one in self.at(ask.path) if one.at >= since]
        size, number = int(ask.one("per_page", "30")), int(ask.one("page", "1"))
        page = listed[(number - 1) * size : number * size]
        return Answer(200, [self._comment(one) for one in page])

    def foreign(self, where: str, text: str, recognizer: str) -> None:
        repository, _, number = where.partition("#")
        mark = f"<!-- counterfoil {recognizer} -->" if recognizer else ""
        path = f"/repos/{repository}/issues/{number}/comments"
        self.post(path, {"body": f"{text}\n{mark}"}, author="a-stranger")


class Discourse(Vendor):
    """Shapes: discourse/discourse. A text that equals one of ours of the last minutes is a 422."""

    me = "counterfoil"
    content_type = "application/json; charset=utf-8"

    def submission(self, ask: Ask) -> bool:
        return ask.method == "POST" and ask.path in {"/posts.json", "/posts"}

    def accept(self, ask: Ask) -> Answer:
        assert ask.headers["api-key"] == SECRET
        said = ask.said
        if self.known(said["raw"]):
            error = "Body is too similar to what you recently posted"
            return Answer(422, {"action": "create_post", "errors": [error]})
        entry = self.post(str(said["topic_id"]), said, key=said["raw"])
        return Answer(200, {"id": int(entry.id), "username": self.me})

    def read(self, ask: Ask) -> Answer:
        if ask.path == "/session/current.json":
            return Answer(200, {"current_user": {"id": 7, "username": self.me}})
        if not self.may_read:
            return Answer(403, {"errors": ["not allowed"]})
        posts = self.at(ask.path.split("/")[2].removesuffix(".json"))
        wanted = set(ask.query.get("post_ids[]", []))
        listed = [self._post(one) for one in posts if one.id in wanted][:20]
        stream = [int(one.id) for one in posts]
        return Answer(200, {"post_stream": {"posts": listed, "stream": stream}})

    def _post(self, one: Entry) -> dict[str, Any]:
        raw = one.said["raw"].strip()
        return {"id": int(one.id), "username": one.author, "created_at": _iso(one.at), "raw": raw}

    def foreign(self, where: str, text: str, recognizer: str) -> None:
        self.post(where, {"raw": f"{text}\n{recognizer}"}, author="stranger")


class Resend(Vendor):
    """Shapes: resend-openapi @fd6f395. A key for a day, and two kinds of 409."""

    def __init__(self) -> None:
        super().__init__()
        self.window_s = 86_400.0

    def submission(self, ask: Ask) -> bool:
        return ask.path == "/emails"

    def accept(self, ask: Ask) -> Answer:
        assert ask.headers["authorization"] == f"Bearer {SECRET}"
        key = ask.headers["idempotency-key"]
        if self.in_flight:
            return Answer(409, {"statusCode": 409, "name": "concurrent_idempotent_requests"})
        earlier = self.known(key)
        if earlier is not None and earlier.said != ask.json:
            return Answer(409, {"statusCode": 409, "name": "invalid_idempotent_request"})
        entry = earlier or self.post(ask.json["to"][0], ask.json, key=key)
        return Answer(200, {"id": entry.id})


class Twilio(Vendor):
    """Shapes: twilio-oai @d50069b. Newest first, and the address of the next page."""

    me = "+15005550006"
    account: ClassVar[str] = "AC" + "0123456789abcdef" * 2

    def submission(self, ask: Ask) -> bool:
        return ask.method == "POST"

    def accept(self, ask: Ask) -> Answer:
        pair = base64.b64encode(f"{self.account}:{SECRET}".encode()).decode()
        assert ask.headers["authorization"] == f"Basic {pair}"
        form = dict(parse_qsl(ask.body.decode()))
        entry = self.post(form["To"], form)
        return Answer(201, {"sid": f"SM{entry.id}", "status": "queued"})

    def read(self, ask: Ask) -> Answer:
        if ask.path.endswith(f"/{self.account}.json"):
            return Answer(200, {"sid": self.account, "friendly_name": "lab"})
        if not self.may_read:
            return Answer(401, {"code": 20003})
        newest = list(reversed(self.at(ask.one("To"))))
        start = int(ask.one("Page", "0"))
        page = newest[start : start + 50]
        following = f"{ask.path}?To={ask.one('To').replace('+', '%2B')}&Page={start + 50}"
        return Answer(
            200,
            {
                "messages": [self._message(one) for one in page],
                "next_page_uri": following if len(newest) > start + 50 else None,
            },
        )

    def _message(self, one: Entry) -> dict[str, Any]:
        said = {"body": one.said["Body"], "from": one.author, "to": one.where}
        return {**said, "sid": f"SM{one.id}", "date_created": format_datetime(one.at)}

    def foreign(self, where: str, text: str, recognizer: str) -> None:
        self.post(where, {"Body": f"{text}\n{recognizer}"}, author="+15005550009")


class Pagerduty(Vendor):
    """Shapes: PagerDuty/developer-docs @9422439. A key names an alert while that is open."""

    def submission(self, ask: Ask) -> bool:
        return ask.path == "/v2/enqueue"

    def accept(self, ask: Ask) -> Answer:
        said = json.loads(ask.body)
        assert said["routing_key"] == SECRET
        earlier = self.known(said["dedup_key"])
        entry = earlier or self.post(said["payload"]["source"], said, key=said["dedup_key"])
        return Answer(202, {"status": "success", "dedup_key": entry.key})


def now() -> datetime:
    return datetime.now(UTC)
