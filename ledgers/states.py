"""Every status, what it means, and the one table of moves between them.

`docs/states.md` is drawn from this file. The table is data: `ledgers.moves` performs the moves
and nothing else in the product writes a status.
"""

from dataclasses import dataclass

from django.db import models


class DeliveryStatus(models.TextChoices):
    """What is known about one intended destination of one message."""

    # Put there by recording, or by proof that nothing was accepted. Nothing has been accepted
    # outside. A worker moves it on when it is due; an operator may withdraw it.
    PENDING = "pending", "owed; provably nothing has been accepted"
    # Put there by the write-ahead of an attempt. Bytes may be on the wire at any moment. The
    # worker that holds the lease settles it; once the lease is gone anyone may, to unknown only.
    SUBMITTING = "submitting", "an attempt is open: bytes may be on the wire"
    # Put there by an ambiguous answer, a lost lease or a restore. It may have been accepted
    # outside, or not. Evidence, an operator's decision or the same, still protected key move it on;
    # nothing else.
    UNKNOWN = "unknown", "it may have been accepted; automatic sending is blocked"
    # Put there by an acceptance, whoever saw it. It happened outside. Nothing moves it on: later
    # evidence only adds facts (bounced, disputed).
    DELIVERED = "delivered", "acceptance is proven"
    # Put there by a permanent refusal or a used-up budget. Provably nothing was accepted. Only an
    # operator moves it on (reissue), or a late acceptance, which is flagged as disputed.
    FAILED = "failed", "provably not accepted, and no machine will try again"
    # Put there when `not_after` passed first. Provably nothing was accepted. As for failed.
    EXPIRED = "expired", "provably not accepted, and its time has passed"
    # Put there by whoever withdrew it in time. Provably nothing was accepted. Final, except for
    # a late acceptance, which is flagged as disputed.
    CANCELLED = "cancelled", "provably not accepted, and withdrawn"


class RunStatus(models.TextChoices):
    """What is known about one execution of an agent."""

    # Opened by the agent; its process may be alive or dead, the steps' leases tell.
    RUNNING = "running", "opened, and not ended"
    # Ended by the agent, every step completed. What its messages came to, the other ledger says.
    COMPLETED = "completed", "the work is done"
    # Ended by the agent with an error. Opening the same run again makes it running.
    FAILED = "failed", "ended with an error; may be opened again"
    # Put there when one step killed its process twice. Refuses to start until a person resolves it.
    CRASH_LOOP = "crash_loop", "a step kills its process each time; a person must look"


class StepStatus(models.TextChoices):
    """What is known about one unit of work."""

    # Leased by a process. Past the lease's end, or as soon as that process is seen to be gone from
    # its host, it counts as dead, and the step may start again.
    RUNNING = "running", "started, and not ended"
    # The first committed result stands for ever.
    COMPLETED = "completed", "done; the result is stored"
    # Ended with an error by its own process. May be started again.
    FAILED = "failed", "ended with an error; may be started again"


@dataclass(frozen=True, slots=True)
class Move:
    """One allowed change of a delivery's status.

    `sources` empty: it creates the row. `actors`: who may cause it (worker, evidence, operator,
    agent). `disputes`: the sources from which the row is flagged as contradicting itself.
    """

    name: str
    sources: tuple[DeliveryStatus, ...]
    target: DeliveryStatus
    actors: tuple[str, ...]
    meaning: str
    disputes: tuple[DeliveryStatus, ...] = ()


S = DeliveryStatus

RECORD = Move("record", (), S.PENDING, ("agent", "operator"), "a destination is owed a message")
BEGIN = Move(
    "begin",
    (S.PENDING, S.UNKNOWN),
    S.SUBMITTING,
    ("worker",),
    "an attempt is written ahead; from unknown only under a protected key or an approval",
)
ACCEPT = Move(
    "accept",
    (S.SUBMITTING, S.UNKNOWN, S.PENDING, S.FAILED, S.EXPIRED, S.CANCELLED),
    S.DELIVERED,
    ("worker", "evidence", "operator"),
    "acceptance is proven, by an answer, a late answer, evidence or a person",
    disputes=(S.PENDING, S.FAILED, S.EXPIRED, S.CANCELLED),
)
SUSPECT = Move(
    "suspect",
    (S.SUBMITTING, S.PENDING),
    S.UNKNOWN,
    ("worker", "operator"),
    "it may have been accepted: ambiguous answer, or lost lease",
)
REWIND = Move(
    "rewind",
    (S.PENDING, S.SUBMITTING, S.UNKNOWN),
    S.UNKNOWN,
    ("worker", "agent", "operator"),
    "the database was restored, and may have forgotten that it was sent",
)
CLEAR = Move(
    "clear",
    (S.SUBMITTING, S.UNKNOWN),
    S.PENDING,
    ("worker", "evidence", "operator"),
    "proven not accepted, and still owed",
)
FAIL = Move(
    "fail",
    (S.SUBMITTING, S.UNKNOWN, S.PENDING),
    S.FAILED,
    ("worker", "evidence", "operator"),
    "proven not accepted, and refused for good or out of attempts",
)
EXPIRE = Move(
    "expire",
    (S.SUBMITTING, S.UNKNOWN, S.PENDING),
    S.EXPIRED,
    ("worker", "evidence", "operator"),
    "proven not accepted, and not_after has passed",
)
CANCEL = Move(
    "cancel",
    (S.SUBMITTING, S.UNKNOWN, S.PENDING),
    S.CANCELLED,
    ("worker", "agent", "operator"),
    "proven not accepted, and withdrawn",
)
REISSUE = Move(
    "reissue",
    (S.FAILED, S.EXPIRED),
    S.PENDING,
    ("operator",),
    "a person wants it tried again; it is known not to have been sent",
)

MOVES: tuple[Move, ...] = (
    RECORD,
    BEGIN,
    ACCEPT,
    SUSPECT,
    REWIND,
    CLEAR,
    FAIL,
    EXPIRE,
    CANCEL,
    REISSUE,
)

# Statuses that a machine or a person still has to do something about.
OPEN = (S.PENDING, S.SUBMITTING, S.UNKNOWN)
# Statuses that claim a proven "not accepted" for good.
NOT_SENT = (S.FAILED, S.EXPIRED, S.CANCELLED)


def drawn() -> str:
    """The states and moves as the Markdown of `docs/states.md`."""
    lines = [
        "# States and moves",
        "",
        "Drawn from `ledgers/states.py` by `manage.py draw_states`.",
        "",
    ]
    for title, choices in (
        ("Delivery", DeliveryStatus),
        ("Run", RunStatus),
        ("Step", StepStatus),
    ):
        lines += [f"## {title}", "", "| status | meaning |", "|---|---|"]
        lines += [f"| `{value}` | {label} |" for value, label in choices.choices]
        lines.append("")
    lines += [
        "## Moves of a delivery",
        "",
        "| move | from | to | who | why |",
        "|---|---|---|---|---|",
    ]
    for move in MOVES:
        sources = ", ".join(f"`{s}`" for s in move.sources) or "(new)"
        who = ", ".join(move.actors)
        lines.append(f"| {move.name} | {sources} | `{move.target}` | {who} | {move.meaning} |")
    lines += ["", "```mermaid", "stateDiagram-v2"]
    for move in MOVES:
        for source in move.sources or ("[*]",):
            lines.append(f"    {source} --> {move.target}: {move.name}")
    lines += ["```", ""]
    return "\n".join(lines)
