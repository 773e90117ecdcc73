"""`python -m tests.chaos.agent SEED NAME MARK`: an agent that does its planned runs, one by one.

It is careless, as agents are: killed and started again, it does its last runs once more, with
words that differ each time. `MARK`: the file in which it notes what it has begun. It ends when a
file `enough` lies beside that.
"""

import logging
import sys
import time
from pathlib import Path

from django.db import DatabaseError, InterfaceError, connection

from delivery import agent
from delivery.agent import Message
from tests.chaos.plan import MOST_RUNS, Work, run_id_of, work_of

LEASE_S = 5.0
PAUSE_S = 0.15  # between two runs: the machine is shared with what is tested
AGAIN = 2  # runs that it does once more when it comes back
ENOUGH = "enough"
logger = logging.getLogger(__name__)


def main() -> None:
    """Work through the plan, from where it had come to."""
    seed, name, mark = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    begun = int(mark.read_text()) if mark.exists() else -1
    for number in range(max(0, begun - AGAIN), MOST_RUNS):
        if number > begun:
            # What was begun is ended, whenever it is enough.
            if (mark.parent / ENOUGH).exists():
                return
            note(mark, number)
        persist(seed, name, number)
        time.sleep(PAUSE_S)


def note(mark: Path, number: int) -> None:
    scratch = mark.with_suffix(".new")
    scratch.write_text(str(number))
    scratch.rename(mark)


def persist(seed: int, name: str, number: int) -> None:
    """One run, begun anew while the database, or another process of its name, is in its way."""
    while True:
        try:
            do(seed, name, number)
        except agent.CrashLoopError as looped:
            logger.warning("a person must look: %s", looped)
        except (DatabaseError, InterfaceError, agent.LeaseHeldError, agent.LeaseLostError) as error:
            logger.warning("run %d is begun anew: %s", number, error)
            connection.close()
            time.sleep(PAUSE_S)
            continue
        return


def do(seed: int, name: str, number: int) -> None:
    """One run, step by step, whatever was done of it before."""
    with agent.run(run_id_of(name, number), agent=name) as run:
        for work in work_of(seed, name, number):
            complete(run.step(work.step_id, lease_s=LEASE_S, wait_s=2 * LEASE_S), work)


def complete(step: agent.Step, work: Work) -> None:
    """Its result and its messages: together, or the messages later, as announced."""
    messages = [worded(one.name, one.channel, one.to) for one in work.messages]
    if work.announced:
        step.complete("done", announces=[one.name for one in work.messages])
        step.record(messages)
    else:
        step.complete("done", messages)


def worded(name: str, channel: str, to: tuple[str, ...]) -> Message:
    """A model's words: never the same twice."""
    return Message(name, channel=channel, to=to, content=f"as of {time.monotonic_ns()}")


if __name__ == "__main__":
    main()
