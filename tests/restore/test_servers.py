"""Real servers: dumped and restored, failed over, cloned. Effects are counted at the recipient.

What the ledger has forgotten must not be repeated, whichever way it came to forget it.
"""

from pathlib import Path

import pytest

from config.embedded import launcher
from config.embedded.cluster import Cluster
from config.recovery.copies import Hand
from config.recovery.plot import BLIND, KEYED, SEARCHED
from delivery.simulator.client import Simulator
from tests.restore import sites
from tests.restore.sites import Site, messages, statuses, wait

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]  # servers are started and killed

EVERY = {KEYED: ["keyed:1"], SEARCHED: ["searched:1"], BLIND: ["blind:1"]}
ROOMS = [room for rooms in EVERY.values() for room in rooms]


def once_each(recipient: Simulator) -> bool:
    return recipient.effects_by_destination() == dict.fromkeys(ROOMS, 1)


def whole(hand: Hand) -> bool:
    """Whether every invariant of its ledgers holds."""
    broken: list[str] = hand("sums")["broken"]
    return broken == []


def forgotten(site: Site, hand: Hand, file: Path) -> Path:
    """A backup in which everything is due, and which then is sent."""
    hand("record", run_id="run-1", messages=messages(EVERY))
    site.backup(file)
    sites.sends(site, hand, "run-1", EVERY)
    return file


def test_a_dump_restored_on_another_server_sends_nothing(
    site: Site, hand: Hand, recipient: Simulator, pristine: Cluster, tmp_path: Path
) -> None:
    """Case C119: a campaign was due at eight, was sent, and a copy of before eight is started."""
    file = forgotten(site, hand, tmp_path / "0755.dump")
    elsewhere = sites.copied(pristine.folder, tmp_path / "elsewhere")
    launcher.ensure_running(elsewhere)
    copy = Site(elsewhere, tmp_path / "another-host")
    copy.put_back(file)

    with copy.copy.hand() as there, copy.copy.worker():
        told = wait(there, lambda told: told["held"], "the copy is held")

        assert whole(there)
    launcher.stop(elsewhere)
    assert set(statuses(told).values()) == {"pending"}
    assert once_each(recipient)


def test_a_dump_restored_into_the_same_database_under_a_running_worker_is_noticed(
    site: Site, hand: Hand, recipient: Simulator, tmp_path: Path
) -> None:
    """Same server, same database, same object id: only the counts of the workers tell."""
    hand("record", run_id="run-1", messages=messages(EVERY))
    file = site.backup(tmp_path / "one.dump")
    with site.copy.worker():
        wait(hand, lambda told: sites.delivered(told, "run-1"), "it is sent")

        site.tools.restore(file, site.database, replace=True)

        told = wait(
            hand,
            lambda told: told["held"] and statuses(told)["searched:1"] == "delivered",
            "it is held, and what can be found is found",
        )
    assert once_each(recipient)
    assert statuses(told) == {
        "keyed:1": "unknown", "searched:1": "delivered", "blind:1": "unknown",
    }  # fmt: skip
    assert told["epoch"] == 2
    assert whole(hand)


def test_a_standby_promoted_without_the_tail_is_held(
    site: Site, hand: Hand, recipient: Simulator, tmp_path: Path
) -> None:
    """Asynchronous replication: what was committed last never arrived, and was sent."""
    sites.sends(site, hand, "run-0", {BLIND: ["blind:0"]})
    hand("record", run_id="run-1", messages=messages(EVERY))
    with sites.standby(site, tmp_path / "standby") as cluster:
        sites.catch_up(site, cluster)
        sites.lose_the_rest(cluster)
        sites.sends(site, hand, "run-1", EVERY)
        site.kill_server()
        sites.promote(cluster)
        promoted = Site(cluster, site.data)

        with promoted.copy.hand() as there, promoted.copy.worker():
            told = wait(
                there,
                lambda told: told["held"] and statuses(told)["searched:1"] == "delivered",
                "the promoted one is held, and what can be found is found",
            )
            assert whole(there)

    assert recipient.effects_by_destination() == {**dict.fromkeys(ROOMS, 1), "blind:0": 1}
    assert statuses(told)["blind:1"] == "unknown"


def test_a_clone_of_the_whole_machine_is_held_while_the_original_goes_on(
    site: Site, hand: Hand, recipient: Simulator, tmp_path: Path
) -> None:
    """The clone has the same server, the same files and the same mark."""
    sites.sends(site, hand, "run-0", {BLIND: ["blind:0"]})
    hand("record", run_id="run-1", messages=messages(EVERY))
    launcher.stop(site.cluster)
    clone = sites.copied(site.data, tmp_path / "clone")
    for cluster in (site.cluster, clone):
        launcher.ensure_running(cluster)
    twin = Site(clone, clone.folder)

    with twin.copy.hand() as there, twin.copy.worker(), site.copy.worker():
        wait(hand, lambda told: sites.delivered(told, "run-1"), "the original goes on")
        told = wait(there, lambda told: told["held"], "the clone is held")

    launcher.stop(clone)
    assert recipient.effects_by_destination() == {**dict.fromkeys(ROOMS, 1), "blind:0": 1}
    assert set(statuses(told, "run-1").values()) == {"pending"}


def test_a_backup_that_is_a_migration_behind_is_migrated_and_then_held(
    site: Site, hand: Hand, recipient: Simulator, tmp_path: Path
) -> None:
    hand("record", run_id="run-1", messages=messages(EVERY))
    older = Site(site.cluster, site.data, "older")
    site.ask("CREATE DATABASE older TEMPLATE counterfoil")
    *_, previous, _ = sites.migrations("ledgers")
    assert older.copy.manage("migrate", "-v0", "ledgers", previous).returncode == 0
    file = older.backup(tmp_path / "old.dump")
    sites.sends(site, hand, "run-1", EVERY)
    site.put_back(file)

    refused = site.copy.manage("deliver", "--once")
    assert site.copy.manage("migrate", "-v0", "--no-input").returncode == 0
    with site.copy.worker():
        told = wait(hand, lambda told: told["held"], "it is held")

    assert refused.returncode == 2
    assert once_each(recipient)
    assert "delivered" not in statuses(told).values()
    assert whole(hand)


def test_what_had_ended_stays_as_it_was(
    site: Site, hand: Hand, recipient: Simulator, tmp_path: Path
) -> None:
    """Case C121: nothing that is over becomes due by a restore."""
    recipient.behave("blind:refused", always="400")
    hand("record", run_id="run-1", messages=messages({BLIND: ["blind:sent", "blind:refused"]}))
    with site.copy.worker():
        wait(hand, lambda told: "pending" not in statuses(told).values(), "all has ended")
    before = statuses(hand("account"))
    file = site.backup(tmp_path / "ended.dump")
    site.put_back(file)
    submitted = recipient.submissions()

    with site.copy.worker():
        told = wait(hand, lambda told: told["held"], "it is held")

    assert before == {"blind:sent": "delivered", "blind:refused": "failed"}
    assert statuses(told) == before
    assert site.ask("SELECT count(*) FROM ledgers_outboxitem") == [(0,)]
    assert recipient.submissions() == submitted


def test_work_done_again_differently_is_noted_and_not_sent(
    site: Site, hand: Hand, recipient: Simulator, tmp_path: Path
) -> None:
    """The backup has the recording: another roster and another text do not change it."""
    file = forgotten(site, hand, tmp_path / "recorded.dump")
    site.put_back(file)

    with site.copy.worker():
        wait(hand, lambda told: told["held"], "it is held")
        hand(
            "record", run_id="run-1", messages=messages({BLIND: ["blind:1", "blind:2"]}, "changed")
        )
        told = hand("account")

    kinds = {kind for (kind,) in site.ask("SELECT DISTINCT kind FROM ledgers_event")}
    assert {"payload_drift", "roster_drift"} <= kinds
    assert "blind:2" not in statuses(told)
    assert once_each(recipient)


def test_work_that_was_forgotten_whole_arrives_at_the_same_identities_and_is_looked_up(
    site: Site, hand: Hand, recipient: Simulator, tmp_path: Path
) -> None:
    """The backup has no trace of the run, and its agent now says something else."""
    sites.sends(site, hand, "run-0", {BLIND: ["blind:0"]})
    file = site.backup(tmp_path / "before.dump")
    identities = hand("record", run_id="run-1", messages=messages(EVERY))
    sites.sends(site, hand, "run-1", EVERY)
    site.put_back(file)

    with site.copy.worker():
        wait(hand, lambda told: told["held"], "it is held")
        changed = {**EVERY, SEARCHED: ["searched:1", "searched:2"]}
        again = hand("record", run_id="run-1", messages=messages(changed, "changed"))
        told = wait(
            hand,
            lambda told: statuses(told, "run-1")["searched:1"] == "delivered",
            "what was sent before is found",
        )

    assert set(identities) < set(again)
    assert recipient.effects_by_destination() == {**dict.fromkeys(ROOMS, 1), "blind:0": 1}
    assert all(row["rewound"] for row in sites.rows(told, "run-1"))
    assert statuses(told, "run-1")["searched:2"] in {"unknown", "pending"}


def test_another_text_under_a_key_that_was_used_is_evidence_and_no_second_message(
    site: Site, hand: Hand, recipient: Simulator, tmp_path: Path
) -> None:
    """The run is forgotten whole, its agent words it anew, and a person lets work go on."""
    recipient.behave("keyed:1", dedupe_s=600)
    sites.sends(site, hand, "run-0", {BLIND: ["blind:0"]})
    file = site.backup(tmp_path / "before.dump")
    sites.sends(site, hand, "run-1", {KEYED: ["keyed:1"]})
    site.put_back(file)

    with site.copy.worker():
        wait(hand, lambda told: told["held"], "it is held")
        hand("record", run_id="run-1", messages=messages({KEYED: ["keyed:1"]}, "worded anew"))
        wait(hand, lambda told: not told["rewinding"], "all that was open is reckoned with")
        hand("release", reason="the old worker is off")
        recipient.wait_for("submissions", 2, to="keyed:1", timeout_s=sites.PATIENCE_S)
        told = wait(
            hand,
            lambda told: sites.rows(told, "run-1")[0]["status"] == "unknown",
            "what came of it is written down",
        )

    outcomes = site.ask("SELECT outcome FROM ledgers_attempt ORDER BY id DESC LIMIT 1")
    assert outcomes == [("mismatch",)]
    assert recipient.effects("keyed:1") == 1
    assert sites.rows(told, "run-1")[0]["attempts"] == 1
