"""Seals, receipts and tombstones are in a backup, and hold in what is restored from it."""

from pathlib import Path

import pytest
from django.db import connection

from config.recovery.backup import back_up
from config.recovery.scratch import Scratch
from config.recovery.tools import tools_for
from ledgers import retention, seals
from ledgers.models import Channel
from tests.factories import record, sweep
from tests.ledgers.old import POLICY_S, old_run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.slow  # a dump, a database, and a process that verifies it
def test_seals_and_receipts_hold_in_a_restored_copy_and_an_anchor_is_found_in_it(
    place: Scratch, tmp_path: Path, alerts: Channel
) -> None:
    retention.purge([old_run("R-old").pk], POLICY_S, "ada", "the year is over")
    record(["tg:1001"])
    sweep()
    seals.seal_all()
    record(["tg:1002"], run_id="run-2")  # it waits for its seal
    file = back_up(tmp_path / "one.dump").file
    copy = place.new_name()
    place.create(copy)

    tools_for(connection).restore(file, copy)

    checked = place.copy(copy, "copy").manage("verify_ledgers", "--anchor", str(seals.newest()))
    assert checked.returncode == 0, checked.stdout
    assert "ok      purges-have-their-receipts" in checked.stdout
    assert f"ok      anchor-{seals.newest()}".split(":", maxsplit=1)[0] in checked.stdout
