"""`verify_ledgers` prints an anchor, and holds those against the chain that were kept."""

import pytest

from ledgers import seals
from tests.commands.shell import typed
from tests.factories import make_channel, record

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sealed() -> None:
    make_channel()
    record()
    seals.seal_all()


def test_the_newest_seal_is_printed_and_found_again_later() -> None:
    anchor = typed("verify_ledgers", "--json").json["anchor"]
    record(run_id="run-2")
    seals.seal_all()

    said = typed("verify_ledgers", "--anchor", anchor)

    assert said.code == 0
    assert "ok      anchor-1" in said.out
    assert said.out.splitlines()[-1] == f"anchor {seals.newest()}"


def test_an_anchor_of_another_chain_is_broken() -> None:
    other = f"1:{'ab' * 32}"

    said = typed("verify_ledgers", "--anchor", other)

    assert said.code == 1
    assert "BROKEN  anchor-1: the chain still has the seal that was kept elsewhere" in said.out


@pytest.mark.parametrize("text", ["", "1", "0:" + "a" * 64, "1:abc", "x:" + "a" * 64])
def test_what_is_no_anchor_is_refused(text: str) -> None:
    said = typed("verify_ledgers", "--anchor", text)

    assert (said.code, "is no anchor. Right would be" in said.err) == (2, True)
