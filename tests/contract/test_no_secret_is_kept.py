"""A peer that says back all that it is told: whatever is kept of it, no secret is in it."""

import base64
import logging
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from delivery import agent
from ledgers.models import Attempt, Delivery
from tests.channels.peers import Peer, Talk
from tests.commands.shell import typed
from tests.conformance.adapters import MADE
from tests.factories import make_channel, make_due, message, sweep

# Mail has a conversation of its own; these two say nothing of a secret to their peer.
NAMES = sorted(set(MADE) - {"email", "function", "simulator"})


def echo(talk: Talk) -> None:
    """Says back the request: in a header, as the body, and as the id of the message."""
    status = iter((200, 500, 401, 200))
    while request := talk.read_request():
        talk.act()
        line = request.replace(b"\r\n", b" ")[:2000]
        head = b"HTTP/1.1 %d %s\r\nServer: %s\r\nLocation: /%s\r\nContent-Length: %d\r\n\r\n"
        said = b'{"ok": false, "id": "%s", "error": "%s"}' % (
            (line.replace(b'"', b"'").replace(b"\\", b"/"),) * 2
        )
        talk.send(head % (next(status, 200), line[:200], line, line, len(said)) + said)


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer(echo) as made:
        yield made


def spellings(secret: str) -> set[str]:
    """As it is, without its mark, quoted, and as Basic would carry it behind a short name."""
    parts = {secret, secret.removeprefix("whsec_"), secret.rpartition(":")[2]}
    coded = {
        base64.b64encode(b"agent:" + one.encode()).decode().rstrip("=")[12:-2] for one in parts
    }
    return {one for one in parts | {quote(p, safe="") for p in parts} | coded if len(one) >= 8}


def everything() -> str:
    """All rows of all tables, as text."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        tables = [name for (name,) in cursor.fetchall()]
        told = []
        for name in tables:
            cursor.execute(f'SELECT t::text FROM "{name}" t')
            told += [text for (text,) in cursor.fetchall()]
    return "\n".join(told)


def test_what_a_peer_says_back_is_kept_without_any_secret(
    transactional_db: None,
    peer: Peer,
    admin_client: Client,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)
    secrets: dict[str, str] = {}
    for name in NAMES:
        adapter, to = MADE[name](peer.url)
        secrets[name] = adapter.secret()
        monkeypatch.setenv(f"TEST_{name.upper()}", secrets[name])
        make_channel(
            name, adapter=name, settings=dict(adapter.settings), look_up_schedule=[0],
            secret_ref=f"env:TEST_{name.upper()}", lease_s=20, max_attempts=3,
        )  # fmt: skip
        with agent.run(f"run-{name}", agent="tester") as run:
            content = {"text": "two words"} if name == "webhook" else "two words"
            run.step("write").complete({}, [message([to], content, channel=name)])

    sweep()
    checked = [typed("channel_check", name) for name in NAMES]
    make_due()
    sweep()
    looked = typed("reconcile")

    # What pages show stands in the tables; two are enough to see that they add nothing.
    row = Delivery.objects.get(message__channel__slug="telegram")
    pages = [
        admin_client.get(reverse(f"admin:{name}", args=[key])).content.decode()
        for name, key in (("delivery", row.delivery_id), ("channel", "telegram"))
    ]
    shown = "\n".join([*(one.out + one.err for one in (*checked, looked)), *pages, caplog.text])
    kept = everything()
    assert len(peer.requests) > len(NAMES)
    assert "[secret]" in kept
    for name in NAMES:
        for spelled in spellings(secrets[name]):
            assert spelled not in kept, name
            assert spelled not in shown, name
    assert Attempt.objects.values("delivery").distinct().count() == len(NAMES)
