"""The code in docs/your-own-sender.md, against a provider that it fits."""

import json
import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings

from tests.commands.shell import typed
from tests.factories import delivery, make_channel, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)
GUIDE = settings.BASE_DIR / "docs/your-own-sender.md"


class Board(ThreadingHTTPServer):
    """Keeps posts by key; answers as told for each destination, once."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Desk)
        self.posts: dict[str, str] = {}
        self.answers: dict[str, int] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Desk(BaseHTTPRequestHandler):
    server: Board

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = self.server.answers.pop(body["to"], 200)
        key = self.headers["Idempotency-Key"]
        if status in {200, 502}:
            self.server.posts.setdefault(key, body["to"])
        self._answer(status, key)

    def do_GET(self) -> None:
        key = parse_qs(urlsplit(self.path).query)["key"][0]
        self._answer(200, key if key in self.server.posts else None)

    def _answer(self, status: int, number: str | None) -> None:
        said = json.dumps({"id": number}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Board]:
    """A provider, the guide's code beside it, and the guide's channel."""
    code, options = re.findall(r"```(?:python|json)\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    (tmp_path / "my_sender.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    made = Board()
    monkeypatch.setenv("BOARD_URL", made.url)
    monkeypatch.delitem(sys.modules, "my_sender", raising=False)
    make_channel(adapter="function", settings=json.loads(options), look_up_schedule=[3600])
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()
    sys.modules.pop("my_sender", None)


def test_the_code_is_short_enough_to_be_read() -> None:
    code = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)[0]

    assert len([line for line in code.splitlines() if line.strip()]) <= 27


def test_what_the_provider_takes_is_delivered_under_its_id(board: Board) -> None:
    record(["room:a"])

    sweep()

    row = delivery("room:a")
    assert (row.status, row.provider_message_id) == ("delivered", row.idempotency_key)
    assert board.posts == {row.idempotency_key: "room:a"}


def test_a_no_for_good_fails_it_and_a_request_to_wait_costs_no_attempt(board: Board) -> None:
    board.answers.update({"room:no": 403, "room:busy": 429})
    record(["room:no", "room:busy"])

    sweep()

    assert delivery("room:no").status == "failed"
    assert delivery("room:busy").status == "pending"
    assert board.posts == {}


def test_an_answer_that_tells_nothing_is_unknown_and_found_by_the_look_up(board: Board) -> None:
    board.answers["room:a"] = 502
    record(["room:a"])

    sweep()
    before = delivery("room:a").status
    typed("reconcile")

    assert before == "unknown"
    assert delivery("room:a").status == "delivered"
    assert len(board.posts) == 1
