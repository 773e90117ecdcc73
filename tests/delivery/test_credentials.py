"""A provider that does not let a credential in: one failure, the rest held, and how it goes on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delivery.channels.secrets import fingerprint
from delivery.models import CredentialHold
from delivery.simulator.client import Simulator
from delivery.watch.checks import BY_NAME, Finding, State
from delivery.watch.reading import read_figures
from ledgers.models import Attempt, Channel, Credential, Delivery, Event
from tests.commands.shell import Typed, typed
from tests.contract.vendor import SECRET, Answer, Ask
from tests.contract.vendors import Slack
from tests.crash.clock import pass_s
from tests.delivery.senders import Desk
from tests.factories import deliveries, delivery, make_channel, make_due, record, sweep
from tests.retry.ways import hooks

ROOMS = [f"C0123ABCDE{n}" for n in range(5)]
RENEWED = "an0thersecretof20characters"


class Workspace(Slack):
    """A workspace that knows tokens: whose each is, what it may do, and which are revoked."""

    def __init__(self) -> None:
        super().__init__()
        self.bots = {SECRET: self.me, RENEWED: self.me}
        self.revoked: set[str] = set()
        self.scopes = "chat:write,channels:history"
        self.posting = True
        self.away = False

    def answer(self, ask: Ask) -> Answer | None:
        if self.away:
            self.asks.append(ask)
            return None
        token = ask.headers.get("authorization", "").removeprefix("Bearer ")
        if token in self.revoked or token not in self.bots:
            self.asks.append(ask)
            error = "token_revoked" if token in self.revoked else "invalid_auth"
            return Answer(200, {"ok": False, "error": error})
        if self.submission(ask) and "chat:write" not in self.scopes:
            self.asks.append(ask)
            return Answer(200, {"ok": False, "error": "missing_scope", "needed": "chat:write",
                                "provided": self.scopes})  # fmt: skip
        return super().answer(ask)

    def accept(self, ask: Ask) -> Answer:
        entry = self.post(ask.json["channel"], ask.json)
        return Answer(200, {"ok": True, "channel": entry.where, "ts": self._ts(entry)})

    def read(self, ask: Ask) -> Answer:
        token = ask.headers["authorization"].removeprefix("Bearer ")
        said = {"ok": True, "user_id": "U1", "bot_id": self.bots[token]}
        return Answer(200, said, {"x-oauth-scopes": self.scopes})


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    with Workspace() as made:
        yield made


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    write(file, SECRET)
    return file


@pytest.fixture
def ops(transactional_db: None, workspace: Workspace, secret: Path) -> Channel:
    """A channel of that workspace whose credential has been checked."""
    channel = make_channel(
        "alerts",
        adapter="slack",
        settings={"base_url": workspace.url, "allow_private": True},
        secret_ref=f"file:{secret}",
        scopes_required=["chat:write"],
        deadline_s=20,
        lease_s=60,
    )
    assert check().code == 0
    return channel


def write(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o600)


def check(*words: str) -> Typed:
    return typed("channel_check", "alerts", *words)


def statuses() -> list[str]:
    return [row.status for row in deliveries()]


def outcomes() -> list[str]:
    return list(Attempt.objects.order_by("pk").values_list("outcome", flat=True))


def events(kind: str) -> list[dict[str, Any]]:
    return list(Event.objects.filter(kind=kind).values_list("detail", flat=True))


def alarm() -> Finding:
    (found,) = BY_NAME["credential"].look(read_figures())
    return found


def credential() -> Credential:
    return Credential.objects.get()


# --- Refused -----------------------------------------------------------------------------------
def test_a_revoked_token_costs_one_failure_and_holds_the_rest_with_one_alert(
    ops: Channel, workspace: Workspace
) -> None:
    workspace.revoked.add(SECRET)
    record(ROOMS)

    for _ in range(3):
        sweep(concurrency=1)
        make_due()

    assert len(workspace.submissions) == 1
    assert outcomes().count("unauthorised") == 1
    assert set(outcomes()) <= {"unauthorised", "not_tried"}
    assert set(statuses()) == {"pending"}
    assert all("credential refused: ok: false, token_revoked" in row.cause for row in deliveries())
    assert [one["kind"] for one in events("credential_hold")] == ["refused"]


def test_many_refused_at_once_are_still_one_alert(ops: Channel, workspace: Workspace) -> None:
    workspace.revoked.add(SECRET)
    record(ROOMS)

    sweep(concurrency=5)

    assert 1 <= len(workspace.submissions) <= len(ROOMS)
    assert len(workspace.submissions) == outcomes().count("unauthorised")
    assert len(events("credential_hold")) == CredentialHold.objects.count() == 1


def test_once_a_check_succeeds_everything_that_was_held_is_sent(
    ops: Channel, workspace: Workspace
) -> None:
    workspace.revoked.add(SECRET)
    record(ROOMS)
    sweep(concurrency=1)
    refused, red = check(), alarm()
    workspace.revoked.clear()

    allowed = check()
    sweep()

    assert (refused.code, allowed.code) == (1, 0)
    assert (red.state, alarm().state) == (State.RED, State.OK)
    assert "What is owed on channel alerts waits: credential refused" in red.sentence
    assert "credential refused: auth.test says token_revoked" in refused.out
    assert statuses() == ["delivered"] * 5
    assert workspace.effects == 5
    assert CredentialHold.objects.count() == 0


def test_c74_a_refusal_on_the_last_attempt_costs_nothing_and_the_renewed_token_delivers(
    ops: Channel, workspace: Workspace, secret: Path
) -> None:
    Channel.objects.update(max_attempts=1)
    workspace.revoked.add(SECRET)
    record(ROOMS[:1])
    sweep()
    write(secret, RENEWED)
    make_due()

    sweep()  # asks whose the new secret is
    make_due()
    sweep()

    row = delivery(ROOMS[0])
    assert outcomes() == ["unauthorised", "accepted"]
    assert (row.status, workspace.effects) == ("delivered", 1)
    assert credential().fingerprint == fingerprint(RENEWED)


def test_c74_a_second_refusal_blocks_it_and_does_not_go_round(
    ops: Channel, workspace: Workspace, secret: Path
) -> None:
    workspace.revoked.add(SECRET)
    record(ROOMS[:1])
    sweep()
    workspace.revoked.add(RENEWED)
    write(secret, RENEWED)

    for _ in range(4):
        make_due()
        sweep()

    assert len(workspace.submissions) == 1  # the new one is asked about first
    assert CredentialHold.objects.get().fingerprint == fingerprint(RENEWED)
    assert delivery(ROOMS[0]).cause.startswith("held: ")
    assert "credential refused" in delivery(ROOMS[0]).cause


# --- Another identity -----------------------------------------------------------------------------
def test_c73_a_secret_of_another_account_holds_what_is_owed_until_a_person_accepts_it(
    ops: Channel, workspace: Workspace, secret: Path
) -> None:
    workspace.bots[RENEWED] = "B0SOMEBODYELSE"
    write(secret, RENEWED)
    record(ROOMS[:2])
    for _ in range(3):
        sweep()
        make_due()
    held, sent = delivery(ROOMS[0]), len(workspace.submissions)
    seen = check()

    Credential.objects.update(fingerprint="")  # as agreeing to take it does
    pass_s(60)
    sweep()
    accepted = check()

    assert (held.status, held.attempt_count, sent) == ("pending", 0, 0)
    assert "credential of another identity: it is B0SOMEBODYELSE" in held.cause
    assert (seen.code, accepted.code) == (1, 0)
    assert "people may take it" in seen.out
    assert statuses() == ["delivered", "delivered"]
    assert credential().identity == "B0SOMEBODYELSE"
    assert events("channel_check")[-1]["state"] == "accepted"


def test_a_renewed_secret_of_the_same_account_goes_on_by_itself(
    ops: Channel, workspace: Workspace, secret: Path
) -> None:
    write(secret, RENEWED)
    record(ROOMS[:1])

    sweep()
    make_due()
    sweep()

    assert delivery(ROOMS[0]).status == "delivered"
    assert outcomes() == ["accepted"]
    assert events("channel_check")[-1]["state"] == "same"


def test_a_provider_that_does_not_answer_leaves_a_renewed_secret_held(
    ops: Channel, workspace: Workspace, secret: Path
) -> None:
    write(secret, RENEWED)
    workspace.away = True
    record(ROOMS[:1])

    sweep()

    assert delivery(ROOMS[0]).attempt_count == 0
    assert "of another identity than before, or was renewed" in delivery(ROOMS[0]).cause
    assert credential().fingerprint == fingerprint(SECRET)
    assert check().code == 1


def test_people_who_agree_to_take_the_secret_let_it_be_tried_again(
    ops: Channel, workspace: Workspace
) -> None:
    workspace.revoked.add(SECRET)
    record(ROOMS[:1])
    sweep()
    workspace.revoked.clear()

    Credential.objects.update(fingerprint="")  # as agreeing to take it does
    pass_s(60)
    sweep()

    assert delivery(ROOMS[0]).status == "delivered"
    assert CredentialHold.objects.count() == 0


# --- Scopes -----------------------------------------------------------------------------------
def test_c76_a_missing_scope_holds_it_with_needed_against_granted(
    ops: Channel, workspace: Workspace
) -> None:
    workspace.scopes = "channels:history"
    record(ROOMS)

    sweep(concurrency=1)
    lacking = check()
    make_due()
    sweep()
    sent = len(workspace.submissions)
    workspace.scopes = "channels:history,chat:write"
    granted = check()
    sweep()

    assert sent == 1
    assert events("credential_hold")[0]["why"] == (
        "credential lacks a scope: needed is chat:write; granted are channels:history"
    )
    assert (lacking.code, granted.code) == (1, 0)
    assert "missing: chat:write" in lacking.out
    assert statuses() == ["delivered"] * 5
    assert workspace.effects == 5


def test_c76_what_is_too_long_is_refused_for_good_and_holds_nobody(
    ops: Channel, workspace: Workspace
) -> None:
    workspace.instead = Answer(200, {"ok": False, "error": "msg_too_long"})
    record(ROOMS[:1])
    sweep()
    workspace.instead = None
    record(ROOMS[1:2], run_id="run-2")

    sweep()

    assert delivery(ROOMS[0]).status == "failed"
    assert delivery(ROOMS[1], "run-2").status == "delivered"


# --- What a check tells ------------------------------------------------------------------------
def test_a_check_stores_what_it_learned_and_submits_nothing(
    ops: Channel, workspace: Workspace
) -> None:
    row = credential()

    assert (row.identity, row.scopes) == (workspace.me, ["chat:write", "channels:history"])
    assert row.verified_at is not None
    assert workspace.submissions == []
    assert [one["state"] for one in events("channel_check")] == ["learned"]


def test_a_check_answers_programs(ops: Channel) -> None:
    said = check("--json")

    assert said.code == 0
    assert said.json["fine"] is True
    assert set(said.json["checks"]) == {"reachable", "identity", "scopes", "clock", "window"}
    assert SECRET not in said.out


def test_a_check_of_a_provider_that_cannot_tell_is_no_finding(
    transactional_db: None, desk: Desk
) -> None:
    make_channel()

    said = check()

    assert said.code == 0
    assert "function has no way to tell" in said.out


def test_a_secret_that_is_not_there_is_a_finding(ops: Channel, secret: Path) -> None:
    secret.unlink()

    said = check()

    assert said.code == 1
    assert "cannot be read" in said.out


def test_a_channel_that_is_not_there_is_misuse(transactional_db: None) -> None:
    said = typed("channel_check", "nobody")

    assert said.code == 2
    assert "There are: none yet" in said.err


# --- Others ------------------------------------------------------------------------------------
def test_a_hook_that_asks_for_another_secret_holds_its_own_host_only(
    transactional_db: None, recipient: Simulator
) -> None:
    hooks()
    recipient.behave("shut", always="401")
    elsewhere = recipient.hook("open").replace("127.0.0.1", "localhost")
    record([recipient.hook("shut"), elsewhere])

    sweep()
    make_due()
    sweep()

    shut = delivery(recipient.hook("shut"))
    assert (shut.status, shut.attempt_count) == ("pending", 1)
    assert "credential refused: 401" in shut.cause
    assert delivery(elsewhere).status == "delivered"


def test_a_hold_is_shown_on_the_page_of_its_channel(
    ops: Channel, workspace: Workspace, admin_client: Client
) -> None:
    workspace.revoked.add(SECRET)
    record(ROOMS[:1])
    sweep()

    text = admin_client.get(reverse("admin:channel", args=["alerts"])).content.decode()
    pages = [
        admin_client.get(reverse(f"admin:{name}")).content.decode()
        for name in ("channels", "overview_live")
    ]
    listed = admin_client.get(reverse("admin:concern", args=["credential"]))

    assert "Credential refused: ok: false, token_revoked" in text
    for page in (text, *pages):
        assert "its credential is not let in" in page
        assert "open to send" not in page
    assert "manage.py channel_check alerts" in text
    assert [row for row, _ in listed.context["rows"]] == list(Delivery.objects.all())
