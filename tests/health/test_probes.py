"""What asks whether all is well: alone, guarded, in time, and right when all else is dead."""

import time
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client, override_settings

from config.health import answers
from config.health.guard import probes_are_let_in
from delivery.watch import rounds
from tests.factories import make_channel, record
from tests.watch.scenes import beat, unknown

TOKEN = "a-token-of-twenty-six-chars"
rows = [pytest.mark.django_db(transaction=True), pytest.mark.unverified_ledgers]


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    answers.last.forget()


@pytest.fixture
def near(settings: Any) -> Client:
    settings.COUNTERFOIL_PROBE_ADDRESSES = ["127.0.0.1"]
    return Client()


@pytest.fixture
def far(settings: Any) -> Client:
    settings.COUNTERFOIL_PROBE_ADDRESSES = ["10.1.0.0/16"]
    settings.COUNTERFOIL_PROBE_TOKEN = TOKEN
    return Client()


def test_the_process_answers_without_a_database_a_host_name_or_https() -> None:
    with override_settings(ALLOWED_HOSTS=["x.test"], SECURE_SSL_REDIRECT=True):
        answer = Client().get("/healthz", headers={"host": "10.0.0.7"})

    assert (answer.status_code, answer.content) == (200, b"ok\n")
    assert answer.headers["Cache-Control"] == "no-store"
    assert not answer.cookies


@pytest.mark.parametrize("address", ["/healthz", "/readyz", "/livez/delivery", "/metrics"])
def test_nothing_is_changed_by_asking(near: Client, address: str) -> None:
    assert near.post(address).status_code == 405


class TestWhoMayAsk:
    pytestmark = rows

    @pytest.mark.parametrize("address", ["/livez/delivery", "/metrics"])
    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({}, 401),
            ({"Authorization": f"Bearer {TOKEN}x"}, 401),
            ({"Authorization": f"Basic {TOKEN}"}, 401),
            ({"Authorization": "Bearer é"}, 401),
            ({"Authorization": f"Bearer {TOKEN}"}, 200),
        ],
    )
    def test_from_afar_it_takes_the_token(
        self, far: Client, address: str, headers: dict[str, str], status: int
    ) -> None:
        beat()

        answer = far.get(address, headers=headers)

        assert answer.status_code == status
        assert status == 200 or b"COUNTERFOIL_PROBE_TOKEN" in answer.content

    def test_where_no_token_is_set_an_empty_one_opens_nothing(self, far: Client) -> None:
        with override_settings(COUNTERFOIL_PROBE_TOKEN=""):
            answer = far.get("/livez/delivery", headers={"Authorization": "Bearer "})

        assert answer.status_code == 401

    def test_behind_a_proxy_the_address_is_the_one_that_the_proxy_saw(self, near: Client) -> None:
        beat()
        with override_settings(COUNTERFOIL_BEHIND_PROXY=True):
            statuses = [
                near.get("/livez/delivery", headers={"X-Forwarded-For": said}).status_code
                for said in ("127.0.0.1, 203.0.113.9", "203.0.113.9, 127.0.0.1")
            ]

        assert statuses == [401, 200]


class TestWhetherDeliveriesAreAlive:
    pytestmark = rows

    def test_all_is_well(self, near: Client) -> None:
        beat()

        assert near.get("/livez/delivery").content == b"ok\n"

    def test_silence_is_503_with_its_reason(self, near: Client) -> None:
        beat(ago_s=100)

        answer = near.get("/livez/delivery")

        assert answer.status_code == 503
        assert answer.content.decode().startswith("red\nred worker: No worker has given a sign")

    def test_late_is_named_and_is_200_and_an_old_unknown_is_503(self, near: Client) -> None:
        make_channel()
        beat()
        unknown(310)
        late = near.get("/livez/delivery/")
        unknown(3_700, "run-2")
        red = near.get("/livez/delivery", headers={"Accept": "application/json"})

        assert (late.status_code, late.content.decode()[:4]) == (200, "late")
        assert (red.status_code, red.json()["reasons"][0]["check"]) == (503, "unknown")

    def test_neither_payload_nor_destination_is_in_a_reason(self, near: Client) -> None:
        make_channel()
        beat()
        unknown(3_700)

        said = near.get("/livez/delivery").content + near.get("/metrics").content

        assert b"hello" not in said
        assert b"tg:1001" not in said

    def test_it_needs_neither_cache_nor_session(
        self, near: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        beat()

        def fail(*_: Any, **__: Any) -> None:
            raise OSError("the cache is gone")

        for name in ("get", "set", "add"):
            monkeypatch.setattr(type(cache._connections["default"]), name, fail)  # type: ignore[attr-defined]

        assert near.get("/livez/delivery").status_code == 200
        assert near.get("/metrics").status_code == 200

    def test_a_database_that_hangs_is_503_in_time(
        self, near: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(answers, "LIMIT_S", 0.3)
        monkeypatch.setattr("config.health.metrics.LIMIT_S", 0.3)

        def hang() -> None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(2)")

        monkeypatch.setattr(rounds, "read_figures", hang)
        monkeypatch.setattr("config.health.metrics.read_figures", hang)
        monkeypatch.setattr(answers, "_missing_migrations", hang)
        began = time.monotonic()

        statuses = {
            at: near.get(at).status_code for at in ("/livez/delivery", "/metrics", "/readyz")
        }

        assert set(statuses.values()) == {503}
        assert time.monotonic() - began < 1.9

    def test_ready_is_a_database_with_every_migration(
        self, near: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert near.get("/readyz").content == b"ready\n"
        monkeypatch.setattr(answers, "_missing_migrations", lambda: 2)
        assert near.get("/readyz").content == b"ready\n"  # for a second: everybody may ask
        answers.last.forget()

        assert near.get("/readyz").content == b"not ready: 2 migrations are missing\n"


class TestMetrics:
    pytestmark = rows

    def test_every_number_is_there_with_its_channel(self, near: Client) -> None:
        make_channel()
        beat()
        unknown(310)
        record(run_id="run-2")

        text = near.get("/metrics").content.decode()

        for line in (
            'counterfoil_unknown{channel="alerts"} 1.0',
            'counterfoil_check_state{channel="alerts",check="unknown"} 1.0',
            'counterfoil_check_state{channel="",check="worker"} 0.0',
            "counterfoil_workers_alive 1.0",
            "counterfoil_due 1.0",
            'counterfoil_became_last_hour{status="unknown"} 1.0',
        ):
            assert line in text.splitlines(), line
        assert 'counterfoil_seconds_since_success{channel="alerts"}' not in text  # never: absent
        assert 'counterfoil_oldest_unknown_age_seconds{channel="alerts"} 31' in text


@pytest.mark.parametrize(
    ("setting", "value", "id_"),
    [
        ("COUNTERFOIL_PROBE_ADDRESSES", ["10.0.0.0/33"], "config.E030"),
        ("COUNTERFOIL_PROBE_TOKEN", "short", "config.E031"),
    ],
)
def test_a_wrong_setting_is_named_at_start_up(setting: str, value: Any, id_: str) -> None:
    with override_settings(**{setting: value}):
        (found,) = probes_are_let_in()

    assert (found.id, setting in found.msg) == (id_, True)
