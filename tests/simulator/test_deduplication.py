"""Keys that are honoured, and webhooks that carry them."""

import pytest

from delivery.simulator.client import Simulator
from tests.simulator.wires import call, get, post


def test_without_a_window_every_submission_acts(recipient: Simulator) -> None:
    for _ in range(2):
        post(recipient)

    assert recipient.effects("ops") == 2


def test_a_duplicate_gets_the_first_ones_id(recipient: Simulator) -> None:
    recipient.behave(dedupe_s=60)

    first, second = post(recipient), post(recipient)

    assert first[1] == second[1]
    assert "idempotent-replayed" not in first[2]
    assert second[2]["idempotent-replayed"] == "true"
    assert recipient.effects("ops") == 1


def test_a_window_ends_by_its_own_clock(recipient: Simulator) -> None:
    recipient.behave(dedupe_s=60)
    post(recipient)

    recipient.set_clock(59)
    post(recipient)
    within = recipient.effects("ops")
    recipient.set_clock(61)
    post(recipient)

    assert (within, recipient.effects("ops")) == (1, 2)


def test_a_lost_answer_is_found_again_by_the_same_key(recipient: Simulator) -> None:
    recipient.behave("ops", "accept_and_reset", dedupe_s=60)
    with pytest.raises(ConnectionResetError):
        post(recipient)

    _, body, headers = post(recipient)

    assert body == {"id": "m00000001"}
    assert headers["idempotent-replayed"] == "true"
    assert recipient.effects("ops") == 1


def test_the_same_key_with_another_body_is_refused_or_ignored(recipient: Simulator) -> None:
    recipient.behave(dedupe_s=60)
    post(recipient, text="one")

    strict = post(recipient, text="two")
    recipient.behave(mismatch="ignore")
    lax = post(recipient, text="two")

    assert strict[:2] == (409, {"error": "mismatch"})
    assert lax[:2] == (200, {"id": "m00000001"})
    assert recipient.effects("ops") == 1


@pytest.mark.parametrize(
    ("scope", "effects"), [("endpoint", 3), ("credential", 3), ("everywhere", 1)]
)
def test_a_key_is_scoped(recipient: Simulator, scope: str, effects: int) -> None:
    recipient.behave(dedupe_s=60, key_scope=scope, mismatch="ignore")
    headers = {"webhook-id": "k", "Authorization": "Bearer one"}
    others = {"webhook-id": "k", "Authorization": "Bearer two"}

    for to, said in (("a", headers), ("b", headers), ("a", others), ("c", headers), ("a", headers)):
        call(recipient, "POST", f"/hook/{to}", "{}", said)

    expected = effects + (scope == "credential")  # another author counts as another key there
    assert recipient.effects() == expected


# --- Webhooks ------------------------------------------------------------------------------------


def test_a_webhook_is_a_submission_too(recipient: Simulator) -> None:
    url = recipient.hook("room/ops 1")
    path = url.removeprefix(recipient.url)

    headers = {"webhook-id": "k9", "counterfoil-ref": "dlvq2mx9kabc"}
    call(recipient, "POST", path, "{}", headers)

    (last,) = recipient.last_submissions("room/ops 1")
    assert (last["key"], last["recognizer"]) == ("k9", "dlvq2mx9kabc")
    assert get(recipient, "/v1/look_up?key=k9")[1]["found"] is True
    assert recipient.look_up_url == f"{recipient.url}/v1/look_up?key={{key}}"


def test_a_quoted_key_is_the_key(recipient: Simulator) -> None:
    call(recipient, "POST", "/hook/a", "{}", {"Idempotency-Key": '"k"'})

    assert recipient.last_submissions("a")[0]["key"] == "k"


@pytest.mark.parametrize("path", ["/", "/v1/look_up", "/v2/messages"])
def test_nothing_else_takes_submissions(recipient: Simulator, path: str) -> None:
    assert call(recipient, "POST", path, "{}")[0] == 400
    assert recipient.submissions() == 0
