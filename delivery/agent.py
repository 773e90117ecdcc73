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

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from asgiref.sync import sync_to_async

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
    InvalidValueError,
    LeaseHeldError,
    LeaseLostError,
    LedgerError,
    NotFoundError,
    RunEndedError,
)

__all__ = [
    "Cancelled",
    "ConflictError",
    "CrashLoopError",
    "DeliveryStanding",
    "InvalidValueError",
    "LeaseHeldError",
    "LeaseLostError",
    "LedgerError",
    "Message",
    "NotFoundError",
    "NotSentError",
    "Owed",
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
        self.sent = Sent(lease.step_pk)

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
        """
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
    ) -> Step:
        """Start a unit of work, or learn that it is done.

        Args:
            step_id: its name within the run.
            input: what it works from; another input under the same name is a conflict.
            version: raise it to do the step anew on purpose.
            lease_s: seconds after which a silent process counts as dead.

        Raises:
            ConflictError: it was started with another input.
            LeaseHeldError: another process is at it.
            CrashLoopError: it killed its process too often; a person must look.
            InvalidValueError: a name or the input cannot be kept.
        """
        lease = execution.start_step(
            self._row, step_id, input=input, version=version, lease_s=lease_s
        )
        step = Step(lease)
        self._open.append(step)
        return step

    async def astep(
        self,
        step_id: str,
        *,
        input: Json = None,  # noqa: A002
        version: int = 1,
        lease_s: float = execution.DEFAULT_LEASE_S,
    ) -> Step:
        """`step`, for async code."""
        return await sync_to_async(self.step)(
            step_id, input=input, version=version, lease_s=lease_s
        )

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
        # Only an ordinary exception is an end. A process that is being killed says nothing, and
        # its leases run out.
        if isinstance(error, Exception):
            text = f"{type(error).__name__}: {error}"
            for step in self._open:
                if not step.done:
                    step.fail(text)
            runs.end_run(self._row, text)
        elif error is None:
            runs.end_run(self._row)

    async def __aenter__(self) -> Self:
        return await sync_to_async(self.__enter__)()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await sync_to_async(self.__exit__)(kind, error, trace)


def run(run_id: str, *, agent: str, trigger_key: str | None = None) -> Run:
    """Open a run: `with run(...) as run:` or `async with run(...) as run:`.

    Args:
        run_id: your own name for this execution; the same name twice is the same run.
        agent: the name of the agent.
        trigger_key: what started it; the same trigger twice is the same run.

    Leaving the block ends the run: completed if every step is, failed on an exception. Entering it
    raises `CrashLoopError` where a person must look first, and `InvalidValueError` for bad names.
    """
    return Run(run_id, agent, trigger_key)
