"""A restore, played from end to end in scratch databases, and counted at the recipient.

An installation sends, is backed up, and sends on. Its backup is restored: in its own place, where
its host knew more, and elsewhere, where no host knows anything. Both must be held by themselves,
find what can be found, and after a person's release make nothing arrive twice.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from config.recovery import plot
from config.recovery.copies import Copy, Hand
from config.recovery.errors import RecoveryError
from config.recovery.plot import (
    AFTER,
    BEFORE,
    BETWEEN,
    BLIND,
    KEPT,
    KEYED,
    NEVER,
    PAUSED,
    RUNS,
    SEARCHED,
)  # fmt: skip
from config.recovery.report import Counted, Report, listed
from config.recovery.scratch import Scratch
from delivery.simulator.client import Simulator

LOOK_S = 0.1
PATIENCE_S = 60.0
REASON = "a restore drill"

Say = Callable[[str], None]
Account = dict[str, Any]


@dataclass(slots=True)
class Drill:
    """One drill. `say`: told what happens, as it happens."""

    place: Scratch
    recipient: Simulator
    say: Say
    report: Report = field(init=False)

    def __post_init__(self) -> None:
        self.report = Report(self.place.where)

    def play(self) -> Report:
        """All of it.

        Raises:
            RecoveryError: it broke off, and has shown nothing.
        """
        name = self.place.new_name()
        self.place.create(name)
        original = self.place.copy(name, "original")
        file = self.place.folder / "drill.dump"
        identities = self._send_around_a_backup(original, file)
        self._restore_elsewhere(file)
        self._restore_in_place(original, name, file, identities)
        return self.report

    # --- The installation, and its backup

    def _send_around_a_backup(self, original: Copy, file: Path) -> dict[str, list[str]]:
        self.say("an installation sends, is backed up, and sends on")
        _succeed(original, "migrate", "-v0", "--no-input")
        for part in plot.PARTS:
            self._teach(part)
        with original.hand() as hand:
            hand("channels", ways=plot.ways(self.recipient.url))
            hand("pause", channel=PAUSED, reason=REASON)
            identities = {BEFORE: self._record(hand, BEFORE)}
            with original.worker():
                self._until(hand, lambda told: _all(told, BEFORE, "delivered"), "it has sent")
            identities[BETWEEN] = self._record(hand, BETWEEN)
            _succeed(original, "backup", "--out", str(file))
            identities[AFTER] = self._record(hand, AFTER)
            with original.worker():
                self._until(hand, lambda told: _all(told, BETWEEN, "delivered"), "it sends on")
                self._until(hand, lambda told: _all(told, AFTER, "delivered"), "it sends on")
        return identities

    def _teach(self, part: plot.Part) -> None:
        window = plot.WINDOW_S if part.channel == KEYED else 0
        always = {"always": "reset"} if part.fate == NEVER else {}
        self.recipient.behave(part.to, dedupe_s=window, **always)

    def _record(self, hand: Hand, fate: str) -> list[str]:
        run = RUNS[fate]
        told: list[str] = hand("record", run_id=run, messages=plot.messages(run))
        return told

    # --- Restored

    def _restore_elsewhere(self, file: Path) -> None:
        self.say("the backup is restored elsewhere, where no host knows it")
        name = self.place.new_name()
        self.place.create(name)
        self.place.tools.restore(file, name)
        copy, before = self.place.copy(name, "elsewhere"), self.recipient.submissions()
        with copy.hand() as hand, copy.worker():
            told = self._until(hand, lambda told: told["held"], "a copy is held")
            self.report.claim(
                "restored elsewhere, everything is held", told["held"], told["reason"]
            )
            self._claim_silence("nothing is sent from there", before)
            self._claim_whole(hand)

    def _restore_in_place(
        self, original: Copy, name: str, file: Path, identities: dict[str, list[str]]
    ) -> None:
        self.say("the backup is restored in its own place")
        self.place.create(name)
        self.place.tools.restore(file, name)
        before = self.recipient.submissions()
        with ExitStack() as stack:
            hand = stack.enter_context(original.hand())
            stack.enter_context(original.worker())
            told = self._until(hand, lambda told: told["held"], "it is held")
            self.report.claim("restored in place, everything is held", told["held"], told["reason"])
            self._work_is_done_again(hand, identities)
            told = self._until(hand, _looked_up, "what can be found is found")
            self._claim_hold(told)
            self._agree(hand)
            self._claim_silence("nothing is sent while it is held", before)
            self._release(hand)

    def _work_is_done_again(self, hand: Hand, identities: dict[str, list[str]]) -> None:
        self.say("its agents do again what the backup has forgotten")
        again = {fate: self._record(hand, fate) for fate in (BETWEEN, AFTER)}
        same = all(again[fate] == identities[fate] for fate in again)
        self.report.claim("work done again arrives at the same identities", same)

    def _claim_hold(self, told: Account) -> None:
        found = [part for part in plot.of([BETWEEN, AFTER]) if part.channel == SEARCHED]
        self.report.claim(
            "what a search can find is found, without sending",
            all(_status(told, part) == "delivered" for part in found),
            listed([f"{part.to} {_status(told, part)}" for part in found]),
        )
        kept = all(_status(told, part) == "delivered" for part in plot.of([BEFORE]))
        self.report.claim("what had ended before the backup stays as it was", kept)

    def _agree(self, hand: Hand) -> None:
        self.say("two people release what they know was not sent")
        released = hand("agree", channel=PAUSED, reason="its channel was paused all the time")
        hand("resume", channel=PAUSED, reason=REASON)
        expected = len(plot.of([KEPT]))
        self.report.claim("two people can release a group", released == expected)

    def _release(self, hand: Hand) -> None:
        self.say("a person lets it go on")
        (never,) = plot.of([NEVER])
        self.recipient.behave(never.to, always="accept")
        hand("release", reason=REASON)
        told = self._until(hand, _at_rest, "it is at rest again")
        self._count(told)
        self._claim_whole(hand)

    # --- What it came to

    def _count(self, told: Account) -> None:
        for part in plot.PARTS:
            effects = self.recipient.effects(part.to)
            submissions = self.recipient.submissions(part.to)
            row = (part.to, part.fate, part.channel, effects, submissions, _status(told, part))
            self.report.counted.append(Counted(*row))
        twice = [one.to for one in self.report.counted if one.effects > 1]
        self.report.claim("nobody got anything twice", not twice, listed(twice) if twice else "")
        lost = [one.to for one in self.report.counted if not one.effects]
        self.report.claim("nothing is lost", not lost, listed(lost) if lost else "")
        blind = [part for part in plot.of([BETWEEN, AFTER]) if part.channel == BLIND]
        self.report.claim(
            "what nobody can look up stays unknown, for a person to decide",
            all(_status(told, part) == "unknown" for part in blind),
        )

    def _claim_silence(self, text: str, before: int) -> None:
        sent = self.recipient.submissions() - before
        self.report.claim(text, sent == 0, f"{sent} submissions" if sent else "")

    def _claim_whole(self, hand: Hand) -> None:
        broken = hand("sums")["broken"]
        self.report.claim("every invariant of its ledgers holds", not broken, ", ".join(broken))

    def _until(self, hand: Hand, fact: Callable[[Account], bool], what: str) -> Account:
        """Wait for a fact; what was found last, also where it did not come."""
        give_up = time.monotonic() + PATIENCE_S
        while True:
            told: Account = hand("account")
            if fact(told) or time.monotonic() > give_up:
                break
            time.sleep(LOOK_S)
        if not fact(told):
            self.report.claim(f"{what} within {PATIENCE_S:.0f} s", holds=False)
        return told


def _succeed(copy: Copy, *words: str) -> None:
    done = copy.manage(*words)
    if done.returncode != 0:
        raise RecoveryError(f"manage.py {words[0]} failed in the scratch database: {done.stdout}")


def _row(told: Account, part: plot.Part) -> Account | None:
    rows: list[Account] = told["deliveries"]
    mine = [row for row in rows if row["to"] == part.to and row["channel"] == part.channel]
    return mine[0] if mine else None


def _status(told: Account, part: plot.Part) -> str:
    row = _row(told, part)
    return str(row["status"]) if row else "not recorded"


def _all(told: Account, fate: str, status: str) -> bool:
    return all(_status(told, part) == status for part in plot.of([fate]))


def _looked_up(told: Account) -> bool:
    """Every search has been made: what cannot be searched waits, and the rest has its verdict."""
    searched = [p for p in plot.of([BETWEEN, AFTER, NEVER]) if p.channel == SEARCHED]
    wanted = {part: "pending" if part.fate == NEVER else "delivered" for part in searched}
    return all(_status(told, part) == status for part, status in wanted.items())


def _at_rest(told: Account) -> bool:
    """All that can be settled is: of the blind channel nobody can know what was forgotten."""
    known = [part for part in plot.PARTS if part.channel != BLIND]
    return all(_status(told, part) == "delivered" for part in known)
