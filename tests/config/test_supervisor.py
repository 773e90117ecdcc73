"""The parent of web and worker, with real processes."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config import orphans, supervisor
from config.children import Program
from tests.config.programs import (
    BRIEF,
    DEAF,
    PARENT,
    alive,
    ends,
    forget,
    parent,
    program,
    started,
)
from tests.embedded.processes import ended, python, until

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a parent; ends all that a failed test left."""
    begun: list[subprocess.Popen[str]] = []

    def begin(*programs: Program) -> "subprocess.Popen[str]":
        begun.append(parent(tmp_path, *programs))
        return begun[-1]

    yield begin
    for process in begun:
        forget(process)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_stop_signal_tells_every_leader_once(
    start: Start, tmp_path: Path, number: signal.Signals
) -> None:
    family = start(program(tmp_path, "web"), program(tmp_path, "worker"))
    leaders = {name: started(tmp_path, name) for name in ("web", "worker")}

    os.killpg(family.pid, number)  # as a terminal does: to the whole foreground group

    code, _ = ends(family)
    told = {name: (tmp_path / f"{name}.told").read_text() for name in leaders}
    assert code == 0
    assert told == {name: f"{pid}\n" for name, pid in leaders.items()}


def test_every_program_leads_a_session_of_its_own(start: Start, tmp_path: Path) -> None:
    start(program(tmp_path, "web"))

    leader = started(tmp_path, "web")

    assert (tmp_path / f"web.{leader}").read_text() == f"{leader} {leader}\n"


def test_a_killed_program_is_started_again_and_the_other_left_alone(
    start: Start, tmp_path: Path
) -> None:
    start(program(tmp_path, "web"), program(tmp_path, "worker"))
    web, worker = started(tmp_path, "web"), started(tmp_path, "worker")

    os.kill(worker, signal.SIGKILL)

    assert alive(started(tmp_path, "worker", besides=[worker]))
    assert alive(web)


def test_a_program_that_ends_well_is_started_again_with_growing_pauses(
    start: Start, tmp_path: Path
) -> None:
    brief = program(tmp_path, "brief", BRIEF)
    family = start(Program(brief.name, [*brief.command, "times"]))
    until(lambda: _length(tmp_path / "brief.times") == 3, "it ran three times")

    family.terminate()

    _, told = ends(family)
    assert "brief ended with 0, starting again in 0.2 s" in told
    assert "brief ended with 0, starting again in 0.4 s" in told


def test_what_a_dead_leader_left_behind_is_ended_before_the_next_starts(
    start: Start, tmp_path: Path
) -> None:
    start(program(tmp_path, "web", PARENT))
    leader = started(tmp_path, "web")
    left = started(tmp_path, "child", besides=[leader])

    os.kill(leader, signal.SIGKILL)
    started(tmp_path, "web", besides=[leader])

    assert not alive(left)


def test_a_killed_parent_takes_its_programs_along(start: Start, tmp_path: Path) -> None:
    family = start(program(tmp_path, "worker"))
    worker = started(tmp_path, "worker")

    family.kill()

    until(lambda: not alive(worker), "the worker ended")
    assert (tmp_path / "worker.told").read_text() == f"{worker}\n"


def test_a_new_parent_sweeps_what_a_killed_one_left(start: Start, tmp_path: Path) -> None:
    killed = start(program(tmp_path, "web", PARENT))
    leader = started(tmp_path, "web")
    left = started(tmp_path, "child", besides=[leader])
    killed.kill()
    until(lambda: not alive(leader), "the leader ended with its parent")
    outlived = alive(left)

    start(program(tmp_path, "web"))
    started(tmp_path, "web", besides=[leader])

    assert outlived
    assert not alive(left)


def test_a_second_stop_signal_ends_the_patience(start: Start, tmp_path: Path) -> None:
    family = start(program(tmp_path, "worker", DEAF))
    worker = started(tmp_path, "worker")
    assert family.stderr is not None

    family.send_signal(signal.SIGINT)
    family.stderr.readline()  # it has begun to stop
    family.send_signal(signal.SIGINT)

    assert ends(family)[0] == 0
    assert not alive(worker)


def test_a_second_parent_on_the_same_folder_is_refused_with_the_first_ones_number(
    start: Start, tmp_path: Path
) -> None:
    first = start(program(tmp_path, "web"))
    started(tmp_path, "web")

    code, told = ends(start(program(tmp_path, "web")))

    assert code == 2
    assert told == f"counterfoil: Already running, as process {first.pid}; `make stop` ends it.\n"


def test_stop_ends_the_parent_of_a_folder_and_says_so(start: Start, tmp_path: Path) -> None:
    family = start(program(tmp_path, "web"))
    started(tmp_path, "web")
    words = ["-m", "config.supervisor", "stop", str(tmp_path)]

    first = ended(python(tmp_path, *words))
    second = ended(python(tmp_path, *words))

    assert ends(family)[0] == 0
    assert first == f"{tmp_path}: console, worker and watch stopped\n"
    assert second == ""


def test_stop_says_when_the_parent_does_not_end(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = start(program(tmp_path, "web"))
    started(tmp_path, "web")
    monkeypatch.setattr(supervisor, "STOP_LIMIT_S", -4.8)
    os.kill(family.pid, signal.SIGSTOP)

    with pytest.raises(TimeoutError, match="did not end"):
        supervisor.stop(tmp_path)

    os.kill(family.pid, signal.SIGCONT)


def test_a_noted_number_that_somebody_else_has_now_is_left_alone(tmp_path: Path) -> None:
    innocent = subprocess.Popen(["sleep", "60"], start_new_session=True)
    groups = {str(innocent.pid): "1"}  # started one tick after the boot: not this one

    with (tmp_path / "up.lock").open("a+") as note:
        json.dump({"parent": 1, "groups": groups}, note)
        orphans.sweep_noted(note)

    spared = innocent.poll() is None
    innocent.kill()
    innocent.wait()
    assert spared


def test_a_damaged_note_is_no_obstacle(start: Start, tmp_path: Path) -> None:
    (tmp_path / "up.lock").write_text("{rubbish")

    start(program(tmp_path, "web"))

    assert alive(started(tmp_path, "web"))


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
