"""The process: it starts fast, keeps what it took, and never outlives those who need it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from delivery.simulator.client import Simulator
from tests.simulator.wires import post

HOME = Path(__file__).parents[2]


def test_it_needs_no_django() -> None:
    code = "import sys, delivery.simulator.__main__; sys.exit('django' in sys.modules)"

    # Without the coverage of this very run, whose plugin brings Django along.
    bare = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}

    done = subprocess.run([sys.executable, "-c", code], cwd=HOME, check=False, env=bare)

    assert done.returncode == 0


def test_what_was_answered_survives_a_kill_of_the_recipient(tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = Simulator.start(store)
    first.behave(dedupe_s=60)
    post(first, key="k1")
    first.inject("ops", "seen", recognizer="dlv")
    created = first.messages("ops")[-1]["at"]

    first.kill()
    with Simulator.start(store) as second:
        second.behave(dedupe_s=60)
        repeated = post(second, key="k1")
        added = post(second, key="k2")
        created_again = second.messages("ops")[-1]["at"]
        effects, submissions = second.effects("ops"), second.submissions("ops")

    assert repeated[1] == {"id": "m00000001"}
    assert added[1] == {"id": "m00000003"}
    assert (effects, submissions) == (2, 3)
    assert created_again == created


def test_a_line_torn_by_the_loss_of_the_machine_is_left_out(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with Simulator.start(store) as first:
        post(first)
    with store.open("ab") as file:
        file.write(b'{"submission": {"to": "o')

    with Simulator.start(store) as second:
        post(second, key="k2")
    with Simulator.start(store) as third:
        effects = third.effects("ops")

    assert effects == 2


def test_forgetting_empties_the_file_too(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with Simulator.start(store) as first:
        post(first)
        first.forget()
    with Simulator.start(store) as second:
        assert second.effects() == 0


def test_it_ends_with_the_one_who_started_it() -> None:
    code = (
        "import os, signal; from delivery.simulator.client import Simulator\n"
        "print(Simulator.start().process.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )

    started = subprocess.run(
        [sys.executable, "-c", code], cwd=HOME, capture_output=True, text=True, check=False
    )

    pid, until = int(started.stdout), time.monotonic() + 5
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.005)  # it is nobody's child any more: there is nothing to wait on
    assert started.returncode == -signal.SIGKILL
    assert not is_running(pid)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_port_in_use_is_told_at_once() -> None:
    with Simulator.start() as first:
        port = int(first.url.rpartition(":")[2])

        with pytest.raises(RuntimeError, match="ended at once"):
            Simulator.start(port=port)


def test_sigterm_ends_it_in_peace() -> None:
    simulator = Simulator.start()
    process = simulator.process
    assert process is not None

    os.kill(process.pid, signal.SIGTERM)

    assert process.wait(5) == 0
    simulator.stop()


def test_waiting_says_how_far_it_got(recipient: Simulator) -> None:
    post(recipient)

    assert recipient.wait_for("effects", 1, to="ops") == 1
    assert recipient.wait_for("submissions", 1) == 1
    with pytest.raises(TimeoutError, match="1 of 2 effects"):
        recipient.wait_for("effects", 2, timeout_s=0.05)


def test_effects_are_counted_by_destination(recipient: Simulator) -> None:
    for to in ("a", "b", "b"):
        post(recipient, to)

    assert recipient.effects_by_destination() == {"a": 1, "b": 2}
    assert recipient.effects("c") == 0
    assert recipient.effects() == 3


@pytest.mark.parametrize("command", ["dance", "behaves"])
def test_an_unknown_command_is_refused(recipient: Simulator, command: str) -> None:
    with pytest.raises(ValueError, match="unknown command"):
        recipient._tell(command, {})


def test_an_unknown_count_is_refused(recipient: Simulator) -> None:
    with pytest.raises(ValueError, match="unknown count"):
        recipient._ask("everything")
