"""The demo is real: real processes, three kills, and a recipient that counts."""

from pathlib import Path

import pytest
from django.conf import LazySettings

from config.demo.account import Account
from config.demo.scene import DESTINATIONS
from ledgers.models import Attempt, Run
from tests.commands.shell import typed


@pytest.mark.usefixtures("transactional_db")
def test_three_kills_cost_no_duplicate_and_what_cannot_be_known_stays_unknown(
    settings: LazySettings, tmp_path: Path
) -> None:
    settings.COUNTERFOIL_DATA = tmp_path

    told = typed("demo", "--once")

    assert told.code == 0, told
    assert (
        "sent 12, effects at the recipient 12, killed 3 times, duplicates 0, unknown 1" in told.out
    )
    assert told.out.count("KILL -9") == 3
    assert "found by its recognizer, not sent again" in told.out
    assert "sent again, its key was recognised" in told.out
    assert "proven absent, then sent" in told.out
    assert Run.objects.get().status == "completed"
    assert Attempt.objects.count() == len(DESTINATIONS) + 3


@pytest.mark.parametrize("folder", ["main"])
def test_the_demo_refuses_ledgers_for_real_use(
    settings: LazySettings, tmp_path: Path, folder: str
) -> None:
    settings.COUNTERFOIL_DATA = tmp_path / folder

    refused = typed("demo", "--once")

    assert refused.code == 2
    assert "these ledgers are for real use" in refused.err
    assert not (tmp_path / folder).exists()


def test_an_account_with_anything_missing_is_not_complete() -> None:
    assert not Account(()).complete
