"""Whatever a peer does: one submission per call, and no word that its effect would belie."""

import logging
import socket
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from delivery.outcomes import Accepted, Ambiguous, NotSent, Outcome, Refused, Unauthorised
from tests.channels.faults import FAULTS, Fault
from tests.channels.mail_faults import LOSSES, SAYS, STAGES, failing, saying
from tests.channels.notebook import Notebook
from tests.channels.peers import Peer
from tests.conformance.adapters import BLIND, MADE, SECRETS, submit

AT_ONCE = 8  # most of the time is waiting


@dataclass(frozen=True, slots=True)
class Row:
    """What one adapter said to one fault, and what the peer saw. `wrong`: what is unsafe."""

    adapter: str
    fault: str
    outcome: str
    submissions: int
    effects: int
    wrong: str


def run(names: Collection[str] = ()) -> list[Row]:
    """These adapters, or every one, against every fault that their protocol knows."""
    logging.disable(logging.CRITICAL)
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(lambda job: job(), _jobs(names or MADE)))
    finally:
        logging.disable(logging.NOTSET)


def _jobs(names: Collection[str]) -> Iterator["Job"]:
    for name in names:
        yield Job(name, "refused", None)
        yield Job(name, "no such name", None)
        if name == "email":
            yield from (Job(name, fault.name, fault) for fault in MAIL_FAULTS)
        else:
            yield from (Job(name, fault.name, fault) for fault in FAULTS)


@dataclass(frozen=True, slots=True)
class Job:
    """One call. Without a fault there is nobody to call."""

    adapter: str
    name: str
    fault: Fault | None

    def __call__(self) -> Row:
        if self.fault is None:
            return self._into_the_void()
        with Peer(self.fault.script) as peer:
            outcome = submit(self.adapter, peer.url, Notebook(self.fault.seconds))
            if self.fault.acted:
                peer.acted.wait(5)
        wrong = "; ".join(self._wrong(self.fault, outcome, peer))
        return self._row(outcome, peer.connections, peer.effects, wrong)

    def _into_the_void(self) -> Row:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        host = "127.0.0.1" if self.name == "refused" else "nobody.invalid"
        outcome = submit(self.adapter, f"http://{host}:{port}", Notebook(5.0))
        right = isinstance(outcome, Ambiguous if self.adapter in BLIND else NotSent)
        return self._row(outcome, 0, 0, "" if right else "nothing was sent")

    def _row(self, outcome: Outcome, submissions: int, effects: int, wrong: str) -> Row:
        return Row(self.adapter, self.name, outcome.outcome, submissions, effects, wrong)

    def _wrong(self, fault: Fault, outcome: Outcome, peer: Peer) -> Iterator[str]:
        if peer.connections > 1 or len(peer.requests) > 1:
            yield f"{max(peer.connections, len(peer.requests))} submissions"
        if peer.effects != fault.acted:
            yield f"{peer.effects} effects"
        if fault.acted and outcome.outcome not in {"accepted", "ambiguous", "mismatch"}:
            yield "it had an effect"
        # To say less than could be known is safe; to say more is not.
        allowed = (*fault.says, Ambiguous)
        if self.adapter not in BLIND and not isinstance(outcome, allowed):
            yield f"says {outcome.outcome}"
        if any(secret in repr(outcome) for secret in SECRETS):
            yield "keeps a secret"


MAIL_FAULTS = [
    *(
        Fault(
            f"{loss} at {stage}",
            failing(stage, script),
            (Ambiguous,) if stage == "dot" else (NotSent,),
            acted=stage == "dot",
        )
        for stage in STAGES
        for loss, script in LOSSES.items()
    ),
    *(
        Fault(
            f"{code} at {stage}",
            failing(stage, saying(b"%d no\r\n" % code)),
            (NotSent, Refused, Unauthorised),
            acted=False,
        )
        for stage in STAGES[:-1]
        for code in (450, 550)
    ),
    Fault("accepted", failing("dot", saying(SAYS[-1])), (Accepted,), acted=True),
]
