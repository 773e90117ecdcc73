"""An agent that is interrupted or killed in its work is started again, and goes on at once."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.db import DatabaseError, connection, transaction

from delivery import agent
from ledgers import execution, holder
from ledgers.models import Event, Run, Step
from tests.commands.shell import typed
from tests.ledgers.connections import other_thread

pytestmark = pytest.mark.django_db(transaction=True)

# A test's worker may ignore Ctrl-C, and its children inherit that.
LISTENING = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
HOLDING = """
import time
from delivery import agent
with agent.run("run-1", agent="tester") as run:
    step = run.step("write")
    print("holding", flush=True)
    time.sleep(600)
"""
HOLDING_ASYNC = """
import asyncio
from delivery import agent
async def main():
    async with agent.run("run-1", agent="tester") as run:
        await run.astep("write")
        print("holding", flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


@contextmanager
def holding(code: str = HOLDING) -> Iterator[subprocess.Popen[str]]:
    """A process that has started the step and works on it."""
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENING + code],
        cwd=settings.BASE_DIR,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said == "holding\n", process.communicate()[1]
        yield process
    finally:
        process.kill()
        process.communicate()


def start_again(**arguments: Any) -> bool:
    """Whether the step is ours at once, and not done."""
    with agent.run("run-1", agent="tester") as run:
        step = run.step("write", **arguments)
        begun = not step.done
        step.complete("done")
    return begun


@pytest.mark.parametrize(
    "error", [ValueError("no luck"), KeyboardInterrupt(), SystemExit(3), SystemExit(0)], ids=repr
)
def test_whatever_ends_the_block_releases_its_steps(error: BaseException) -> None:
    def work() -> None:
        with agent.run("run-1", agent="tester") as run:
            run.step("write")
            raise error

    with pytest.raises(type(error)):
        work()

    step, ended = Step.objects.get(), Run.objects.get()
    assert (step.status, ended.status) == ("failed", "failed")
    assert step.error == ended.error
    assert step.error.startswith(type(error).__name__)
    assert not step.error.endswith(": ")
    assert start_again()


def test_leaving_the_program_on_purpose_after_the_work_completes_the_run() -> None:
    def work() -> None:
        with agent.run("run-1", agent="tester") as run:
            run.step("write").complete("done")
            sys.exit()

    with pytest.raises(SystemExit):
        work()

    assert Run.objects.get().status == "completed"


def test_the_exception_of_the_work_is_not_hidden_by_a_database_that_is_gone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise DatabaseError("no connection")

    def work() -> None:
        with agent.run("run-1", agent="tester") as run:
            run.step("write")
            monkeypatch.setattr(execution, "fail_step", fail)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()

    assert "run run-1 was left as it is: no connection" in caplog.text
    assert Step.objects.get().status == "running"


@pytest.mark.parametrize("code", [HOLDING, HOLDING_ASYNC], ids=["sync", "async"])
def test_after_ctrl_c_the_agent_is_started_again_at_once(code: str) -> None:
    with holding(code) as process:
        process.send_signal(signal.SIGINT)
        process.wait(30)

    assert Step.objects.get().status == "failed"
    assert start_again()
    assert Step.objects.get().deaths == 0


@pytest.mark.parametrize("reaped", [True, False])
def test_after_kill_9_the_agent_is_started_again_at_once_and_the_death_counts(
    *, reaped: bool
) -> None:
    with holding() as process:
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        if reaped:
            process.wait(30)

        begun = start_again()

    step = Step.objects.get()
    assert begun
    assert (step.starts, step.deaths) == (2, 1)
    assert Event.objects.get(kind="step_died").detail["holder"].startswith(f"{process.pid}@")


def test_two_kills_stop_the_run_for_a_person_as_two_silent_leases_do() -> None:
    for _ in range(2):
        with holding() as process:
            process.kill()

    with pytest.raises(agent.CrashLoopError):
        start_again()


def test_a_living_holder_is_named_with_what_to_do_and_can_be_waited_for() -> None:
    with holding() as process:
        with pytest.raises(agent.LeaseHeldError) as refused:
            start_again()
        shown = typed("show_run", "run-1")
        threading.Timer(0.5, process.send_signal, [signal.SIGINT]).start()

        begun = start_again(wait_s=30)

    assert f"held by process {process.pid} on" in str(refused.value)
    assert "wait_s=" in str(refused.value)
    assert f"process {process.pid} on" in shown.out
    assert "lease ends" in shown.out
    assert begun


def test_a_run_whose_holder_is_gone_says_so() -> None:
    with holding() as process:
        process.kill()
        process.wait()

        shown = typed("show_run", "run-1", "--json")

    assert "which is gone: it may be started again" in typed("show_run", "run-1").out
    assert shown.json["steps"][0]["holder"].startswith(f"{process.pid}@")
    assert shown.json["steps"][0]["lease_until"]


@pytest.mark.parametrize("changed", ["host", "boot", "unnamed"])
def test_a_holder_elsewhere_or_unnamed_is_waited_for(changed: str) -> None:
    with holding() as process:
        process.kill()
    held = Step.objects.get().holder
    other = {
        "host": held.replace("@", "@other-"),
        "boot": held.replace("boot=", "boot=other-"),
        "unnamed": "",
    }[changed]
    Step.objects.update(holder=other)

    with pytest.raises(agent.LeaseHeldError):
        start_again()

    assert Step.objects.get().deaths == 0


def test_a_number_that_came_again_is_not_the_holder() -> None:
    mine = holder.present()
    start = mine.partition("started=")[2].partition(" ")[0]

    assert not holder.is_gone(mine)
    assert holder.is_gone(mine.replace(f"started={start}", f"started={int(start) - 1}"))


def test_waiting_ends_with_the_same_refusal_when_the_time_is_over() -> None:
    with agent.run("run-1", agent="tester") as run:
        run.step("write")
        begun = time.monotonic()
        with pytest.raises(agent.LeaseHeldError):
            run.step("write", wait_s=0.3)

        assert 0.3 <= time.monotonic() - begun < 20


@pytest.mark.parametrize("wait_s", [-1, float("nan"), float("inf"), "1"])
def test_a_wait_that_is_none_is_refused_by_name(wait_s: Any) -> None:
    with (
        pytest.raises(agent.InvalidValueError, match=r"^wait_s: "),
        agent.run("run-1", agent="tester") as run,
    ):
        run.step("write", wait_s=wait_s)


def test_a_holder_whose_last_commit_arrives_meanwhile_is_believed() -> None:
    """Its backend may still commit after the process is gone; the starter waits for the row."""
    with agent.run("run-1", agent="tester") as run:
        lease = execution.start_step(run._row, "write")
    dead = holder.present().replace("started=", "started=1")
    Step.objects.update(holder=dead)
    locked, go_on = threading.Event(), threading.Event()

    def commit_late() -> None:
        with transaction.atomic():
            execution.complete_step(lease, "done")
            locked.set()
            go_on.wait(10)

    with other_thread() as thread:
        late = thread.submit(commit_late)
        locked.wait(10)
        threading.Timer(0.3, go_on.set).start()
        with agent.run("run-1", agent="tester") as run:
            step = run.step("write")
        late.result()

    assert step.done
    assert step.result == "done"
    assert Step.objects.get().deaths == 0
    connection.close()
