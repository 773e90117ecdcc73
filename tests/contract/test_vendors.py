"""Adapters that are known by contract, each against the same fake with its vendor's semantics."""

from datetime import UTC, datetime, timedelta

import pytest

from delivery.errors import BadDestinationError
from delivery.outcomes import (
    Accepted,
    Ambiguous,
    NotSent,
)
from delivery.timing import boottime
from tests.contract.lab import SEARCHABLE, TOKEN, Lab, each
from tests.contract.vendor import SECRET, Answer
from tests.contract.ways import WAYS, Way


@each()
def test_what_is_accepted_has_one_effect_and_names_an_id(lab: Lab) -> None:
    outcome = lab.send()

    assert isinstance(outcome, Accepted)
    assert outcome.provider_message_id
    assert lab.vendor.effects == len(lab.vendor.submissions) == 1
    assert TOKEN in lab.vendor.submissions[0].body.decode()


@each()
def test_every_attempt_sends_the_same_bytes(lab: Lab) -> None:
    lab.vendor.instead = Answer(500, {})
    lab.send()
    lab.send()

    first, second = lab.vendor.submissions
    assert first.body == second.body
    assert first.path == second.path
    assert {n: v for n, v in first.headers.items() if "key" in n} == {
        n: v for n, v in second.headers.items() if "key" in n
    }


@each()
def test_a_lost_answer_is_ambiguous(lab: Lab) -> None:
    lab.vendor.lose_answers = True

    assert isinstance(lab.send(), Ambiguous)
    assert lab.vendor.effects == len(lab.vendor.submissions) == 1


@each()
def test_the_mark_of_an_approved_resend_is_visible(lab: Lab) -> None:
    hide = {"recognizer_place": "hidden"} if "recognizer_place" in lab.way.adapter.known else {}

    lab.send(marker="re-sent", **hide)

    assert "re-sent" in lab.vendor.submissions[0].body.decode()


@each()
def test_no_secret_is_in_what_is_kept(lab: Lab) -> None:
    lab.vendor.instead = Answer(
        400, {"ok": False, "echo": lab.way.secret}, {"Server": lab.way.secret}
    )

    kept = [repr(lab.send()), repr(lab.adapter().introspect(boottime() + 5))]
    kept += [repr(lab.look())] if lab.way.adapter.slug in SEARCHABLE else []

    assert SECRET not in "".join(kept)


@pytest.mark.parametrize("secret", ["", "line\nend", "ünïcode"])
@each()
def test_a_secret_that_cannot_be_used_is_never_sent(lab: Lab, secret: str) -> None:
    lab.way = Way(lab.way.vendor, lab.way.adapter, lab.way.to, lab.way.settings, secret)

    outcome = lab.send()

    assert isinstance(outcome, NotSent)
    assert not outcome.tried
    assert lab.adapter().ready()
    assert lab.vendor.asks == []


@each("slack", "discord", "telegram", "github", "discourse", "twilio")
def test_introspection_names_the_account(lab: Lab) -> None:
    found = lab.adapter().introspect(boottime() + 5)

    assert found.identity
    assert found.why == ""
    assert found.clock is None or abs(found.clock - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.parametrize("name", WAYS)
def test_each_is_declared_as_known_by_contract_only(name: str) -> None:
    declared = Lab(name).adapter().declare()

    assert declared.met == "contract only"
    assert declared.adapter == name
    assert (declared.tier in "CD") == (name in SEARCHABLE)


# These answers never change: a destination's identity is derived from them.
@pytest.mark.parametrize(
    ("name", "given", "one_spelling"),
    [
        ("slack", " c0123abcdef ", "C0123ABCDEF"),
        ("discord", "112233445566778899", "112233445566778899"),
        ("telegram", "@Counter_Foil", "@counter_foil"),
        ("telegram", "-1001234567890", "-1001234567890"),
        ("github", "Acme/Ops#12", "acme/ops#12"),
        ("discourse", "77", "77"),
        ("resend", "Ops@Acme.test", "ops@acme.test"),
        ("twilio", "+49 30 123-456", "+4930123456"),
        ("pagerduty", "DB-3.acme.test", "db-3.acme.test"),
    ],
)
def test_a_destination_has_one_spelling(name: str, given: str, one_spelling: str) -> None:
    adapter = Lab(name).adapter()

    assert adapter.normalise(given) == one_spelling
    assert adapter.normalise(one_spelling) == one_spelling


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("given", ["", "none", "#general", "a b", "../..", "x\r\ny", "x" * 1001])
def test_what_is_no_destination_is_refused(name: str, given: str) -> None:
    with pytest.raises(BadDestinationError, match="destination"):
        Lab(name).adapter().normalise(given)
