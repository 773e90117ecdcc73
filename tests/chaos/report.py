"""What a run came to, as a table and a line."""

from tests.chaos.account import Account
from tests.chaos.run import Outcome

ERRORS = rb"(?m)^\S+ \S+ (?:ERROR|CRITICAL) "


def report(outcome: Outcome) -> str:
    """The counts, whatever is broken or left, and the verdict."""
    return "\n".join([*_table(outcome), *_complaints(outcome), "", verdict(outcome)])


def _table(outcome: Outcome) -> list[str]:
    found, crew = outcome.account, outcome.crew
    starts = {one.name: one.starts for one in crew.members}
    return [
        f"seed        {outcome.seed}",
        f"faults      {_counted(outcome.done)}",
        f"no victim   {_counted(outcome.undone)}",
        f"starts      {_counted(starts)}",
        f"log errors  {_counted(crew.logged(ERRORS))}",
        f"runs        {_counted(found.runs)}; {found.steps} steps",
        f"deliveries  {_counted(found.statuses)}",
        f"on the wire {_on_the_wire(found)}",
        f"at rest     {outcome.settled_s:.1f} s after the last fault",
    ]


def _on_the_wire(found: Account) -> str:
    return f"{found.attempts} attempts, {found.submissions} submissions, {found.effects} effects"


def _counted(counts: dict[str, int]) -> str:
    shown = (f"{name.replace('_', '-')} {number}" for name, number in sorted(counts.items()))
    return ", ".join(shown) or "-"


def _complaints(outcome: Outcome) -> list[str]:
    found = outcome.account
    return [
        *(f"residual    {one}" for one in found.residual),
        *(f"BROKEN      {one}" for one in found.broken),
    ]


def verdict(outcome: Outcome) -> str:
    """One line that says it all."""
    found = outcome.account
    word = f"{len(found.broken)} claims BROKEN" if found.broken else "every invariant holds"
    left = f", {len(found.residual)} times the named residual" if found.residual else ""
    return (
        f"seed {outcome.seed}: {outcome.done.total()} faults, {found.statuses.total()} deliveries,"
        f" {found.effects} effects: {word}{left}"
    )
