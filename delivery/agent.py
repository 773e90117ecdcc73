"""What agent code imports. A few lines are enough:

    from delivery import agent

    with agent.run("digest-2026-12-01", agent="digest") as run:
        step = run.step("write", input={"day": "2026-12-01"})
        if not step.done:
            text = write_digest()
            step.complete({"text": text}, [
                agent.Message("digest", channel="mail", to=["ops@acme.test"], content=text),
            ])
        print(step.sent.wait(10))

Run it again, after a crash or not: the work is not done twice, and nothing is sent twice. Every
blocking call has an async twin whose name begins with `a` (that of `wait` is `await_`). Importing
this module configures Django if nobody did.
"""

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from asgiref.sync import sync_to_async
from django.db import DatabaseError, InterfaceError

from delivery.setup import ensure_django

ensure_django()

from delivery import record as _record  # noqa: E402  models need the app registry
from delivery.cancel import Cancelled, cancel  # noqa: E402
from delivery.errors import NotSentError, RefusedError  # noqa: E402
from delivery.roster import Message  # noqa: E402
from delivery.standing import DeliveryStanding, Owed, Sent, Standing, owed  # noqa: E402
from ledgers import execution, runs  # noqa: E402
from ledgers.canonical import Json  # noqa: E402
from ledgers.errors import (  # noqa: E402
    ConflictError,
    CrashLoopError,
    ErasedError,
    InvalidValueError,
    LeaseHeldError,
    LeaseLostError,
    LedgerError,
    NotFoundError,
    NotMigratedError,
    PurgedError,
    RunEndedError,
)

__all__ = [
    "Cancelled",
    "ConflictError",
    "CrashLoopError",
    "DeliveryStanding",
    "ErasedError",
    "InvalidValueError",
    "LeaseHeldError",
    "LeaseLostError",
    "LedgerError",
    "Message",
    "NotFoundError",
    "NotMigratedError",
    "NotSentError",
    "Owed",
    "PurgedError",
    "RefusedError",
    "Run",
    "RunEndedError",
    "Sent",
    "Standing",
    "Step",
    "acancel",
    "aowed",
    "cancel",
    "owed",
    "run",
]

log = logging.getLogger(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0  # between two looks at a lease that is waited for
LONGEST_WAIT_S = execution.LONGEST_LEASE_S

acancel = sync_to_async(cancel)
aowed = sync_to_async(owed)


class Step:
    """One unit of work that is yours until its lease runs out, or that was done before.

    Attributes:
        done: it was completed before; `result` is what counts and need not be worked out again.
        result: the stored result, or None while it is not done.
        sent: its messages, to look at or wait for.
    """

    def __init__(self, lease: execution.Lease) -> None:
        self._lease = lease
        self.done = lease.done
        self.result: Json = lease.result
        self.sent = Sent(lease)

    def complete(
        self,
        result: Json = None,
        messages: Sequence[Message] = (),
        *,
        result_ref: str = "",
        announces: Sequence[str] = (),
    ) -> Sent:
        """Store the result and record the messages it owes, in one transaction.

        Args:
            result: JSON; the first committed one stands, whatever is said later.
            messages: what the step owes to the outside world.
            result_ref: where a large result is kept.
            announces: names of messages that `record` will bring later.

        Returns:
            the messages, to look at or wait for.

        Raises:
            InvalidValueError: a field is wrong, and which; nothing was written.
            LeaseLostError: another process has the step.
        """
        self.result = _record.complete_and_record(
            self._lease, result, messages, result_ref=result_ref, announces=announces
        )
        self.done = True
        return self.sent

    def record(self, messages: Sequence[Message]) -> Sent:
        """Record messages that this completed step announced.

        Raises:
            InvalidValueError: a field is wrong, or a message was not announced.
            LeaseLostError: the database was restored and has forgotten the step.
        """
        execution.refuse_forgotten(self._lease)
        _record.record_messages(self._lease.step_pk, messages)
        return self.sent

    def renew(self, lease_s: float = execution.DEFAULT_LEASE_S) -> None:
        """Keep the step for another `lease_s` seconds.

        Raises:
            LeaseLostError: another process has it; stop working on it.
        """
        execution.renew(self._lease, lease_s)

    def fail(self, error: str) -> None:
        """Give the step up with an error; it may be started again."""
        execution.fail_step(self._lease, error)

    async def acomplete(
        self,
        result: Json = None,
        messages: Sequence[Message] = (),
        *,
        result_ref: str = "",
        announces: Sequence[str] = (),
    ) -> Sent:
        """`complete`, for async code."""
        return await sync_to_async(self.complete)(
            result, messages, result_ref=result_ref, announces=announces
        )

    async def arecord(self, messages: Sequence[Message]) -> Sent:
        """`record`, for async code."""
        return await sync_to_async(self.record)(messages)

    async def arenew(self, lease_s: float = execution.DEFAULT_LEASE_S) -> None:
        """`renew`, for async code."""
        await sync_to_async(self.renew)(lease_s)

    async def afail(self, error: str) -> None:
        """`fail`, for async code."""
        await sync_to_async(self.fail)(error)


class Run:
    """One execution of an agent; a context manager, sync and async. See `run`."""

    def __init__(self, run_id: str, agent: str, trigger_key: str | None) -> None:
        self._arguments = (run_id, agent, trigger_key)
        self._open: list[Step] = []

    def step(
        self,
        step_id: str,
        *,
        input: Json = None,  # noqa: A002  the caller's word for it
        version: int = 1,
        lease_s: float = execution.DEFAULT_LEASE_S,
        wait_s: float = 0,
    ) -> Step:
        """Start a unit of work, or learn that it is done.

        Args:
            step_id: its name within the run.
            input: what it works from; another input under the same name is a conflict.
            version: raise it to do the step anew on purpose.
            lease_s: seconds after which a silent process counts as dead. One that was killed on
                this host counts as dead at once.
            wait_s: how long to wait, at most, for another process that is at it.

        Raises:
            ConflictError: it was started with another input.
            LeaseHeldError: another process is at it, and who and until when.
            CrashLoopError: it killed its process too often; a person must look.
            InvalidValueError: a name, the input or a time cannot be kept.
        """
        for pause_s in _pauses(wait_s):
            try:
                return self._start(step_id, input, version, lease_s)
            except LeaseHeldError:
                time.sleep(pause_s)
        return self._start(step_id, input, version, lease_s)

    async def astep(
        self,
        step_id: str,
        *,
        input: Json = None,  # noqa: A002
        version: int = 1,
        lease_s: float = execution.DEFAULT_LEASE_S,
        wait_s: float = 0,
    ) -> Step:
        """`step`, for async code."""
        start = sync_to_async(self._start)
        for pause_s in _pauses(wait_s):
            try:
                return await start(step_id, input, version, lease_s)
            except LeaseHeldError:
                await asyncio.sleep(pause_s)
        return await start(step_id, input, version, lease_s)

    def _start(self, step_id: str, given: Json, version: int, lease_s: float) -> Step:
        """Here, and not in the caller: a task that is cancelled meanwhile still gives it back."""
        lease = execution.start_step(
            self._row, step_id, input=given, version=version, lease_s=lease_s
        )
        step = Step(lease)
        self._open.append(step)
        return step

    @property
    def run_id(self) -> str:
        """The name it has; with a trigger key, that of the run which the trigger started first."""
        return self._row.run_id

    def standing(self) -> Standing:
        """How all messages of this run stand now."""
        return owed(self.run_id).standing

    async def astanding(self) -> Standing:
        """`standing`, for async code."""
        return await sync_to_async(self.standing)()

    def __enter__(self) -> Self:
        run_id, agent, trigger_key = self._arguments
        self._row = runs.open_run(run_id, agent, trigger_key)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            runs.end_run(self._row)
            return
        try:
            self._give_up(error)
        except (DatabaseError, InterfaceError) as trouble:
            # The caller's exception is what counts. The leases end by themselves: with this
            # process on this host, in time on any other.
            log.warning("run %s was left as it is: %s", self.run_id, trouble)

    def _give_up(self, error: BaseException) -> None:
        """Release what is open: an interrupted agent may be started again at once."""
        left = [step for step in self._open if not step.done]
        text = f"{type(error).__name__}: {error}".removesuffix(": ")
        for step in left:
            step.fail(text)
        clean = isinstance(error, SystemExit) and not error.code and not left
        runs.end_run(self._row, "" if clean else text)

    async def __aenter__(self) -> Self:
        return await sync_to_async(self.__enter__)()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await sync_to_async(self.__exit__)(kind, error, trace)


def _pauses(wait_s: object) -> Iterator[float]:
    """Pauses that grow, for `wait_s` seconds from the first one on.

    Raises:
        InvalidValueError: that is no time to wait.
    """
    if not isinstance(wait_s, int | float) or not 0 <= wait_s <= LONGEST_WAIT_S:
        raise InvalidValueError(
            "wait_s", f"is {wait_s!r}", f"seconds, from 0 to {LONGEST_WAIT_S:.0f}"
        )
    give_up = time.monotonic() + wait_s
    pause_s = FIRST_PAUSE_S
    while (left_s := give_up - time.monotonic()) > 0:
        yield min(pause_s, left_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def run(run_id: str, *, agent: str, trigger_key: str | None = None) -> Run:
    """Open a run: `with run(...) as run:` or `async with run(...) as run:`.

    Args:
        run_id: your own name for this execution; the same name twice is the same run.
        agent: the name of the agent.
        trigger_key: what started it; the same trigger twice is the same run.

    Leaving the block ends the run: completed if every step is. On an exception of any kind, Ctrl-C
    and a cancelled task too, its open steps and the run are failed, and may be started again at
    once. So may those of a process that was killed on this host; another host's are waited for
    until their leases end. Entering it raises `CrashLoopError` where a person must look first, and
    `InvalidValueError` for bad names, `ConflictError` where another agent opened this run, and
    `NotMigratedError` where there are no ledgers yet.
    """
    return Run(run_id, agent, trigger_key)
