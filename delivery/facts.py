"""What the rules may look at: one delivery's whole history and the policy of its channel.

These are values. Reading them from the tables is `delivery.history`; deciding is
`delivery.next_move`. Everything here can be written down as JSON and read back, so that any
decision can be recomputed later from what it saw.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from delivery.timing import after

# Outcomes of an attempt that leave it possible that the provider accepted.
AMBIGUOUS = frozenset({"ambiguous", "mismatch", "in_flight"})
# Outcomes that use up the budget. Being asked to come back, or holding back, does not.
COUNTED = frozenset({"accepted", "refused", "not_sent", "ambiguous", "mismatch", "in_flight", ""})
FOUND = frozenset({"found", "found_many"})
LOOK_UPS = frozenset({"key_lookup", "id_lookup", "surface_scan"})
# Decisions of a person to go on sending.
GO_ON = frozenset({"try_again", "send_again"})


def endpoint_of(key_scope: str) -> str:
    """The part of a key's scope that tells who answers."""
    return key_scope.partition("@")[2]


@dataclass(frozen=True, slots=True)
class AttemptFact:
    """One attempt. `held`: it is open and the worker that opened it still has its lease."""

    generation: int
    number: int
    outcome: str
    opened_at: datetime
    closed_at: datetime | None
    lease_until: datetime
    deadline_s: float
    held: bool = False
    key_scope: str = ""
    retry_after_s: float | None = None
    permanent: bool = False

    @property
    def abandoned(self) -> bool:
        return self.outcome == "" and not self.held

    @property
    def ambiguous(self) -> bool:
        return self.outcome in AMBIGUOUS or self.abandoned

    @property
    def ended_by(self) -> datetime:
        """The moment after which this attempt can put no byte on the wire."""
        return self.closed_at or after(self.lease_until, self.deadline_s)


@dataclass(frozen=True, slots=True)
class EvidenceFact:
    """One finding. `covered_from` None: the whole time is covered (the provider's own index)."""

    generation: int
    method: str
    verdict: str
    taken_at: datetime
    covered_from: datetime | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The channel's rules of conduct, in seconds where they are times."""

    retry_schedule: tuple[float, ...] = (1, 5, 30, 120, 600, 1800)
    look_up_schedule: tuple[float, ...] = ()
    max_attempts: int = 8
    deadline_s: float = 10
    margin_s: float = 5
    processing_s: float = 0
    key_honoured: bool = False
    key_scope: str = ""
    window_s: float = 0
    can_look_up: bool = False
    resend_after_absent: bool = False


@dataclass(frozen=True)  # no slots: what follows from the history is worked out once
class Facts:
    """Everything about one delivery that a decision may depend on.

    `attempts` and `evidence` are those of every generation of the same destination and part.
    `rewound_at`: from when on no worker of before a restore can write any more; `rewound_from`: the
    restore point, before which nothing can have been forgotten (None: the same moment).
    `earlier_part_open`: an earlier part is not delivered; `_ended`: and no machine will.
    `unreadable`: why the stored content cannot be rendered any more; it is then refused for good.
    `held`: the reasons, in words, why nothing may leave now although nothing forbids it for good.
    `decision`: send_again, try_again, leave or empty, in force since `decided_at`.
    `look_again_at`: when a person asked for one more search.
    `no_question_before`: when its turn comes to be searched for, where others are before it.
    """

    delivery_id: str
    generation: int = 1
    attempts: tuple[AttemptFact, ...] = ()
    evidence: tuple[EvidenceFact, ...] = ()
    policy: Policy = Policy()
    key_first_used_at: datetime | None = None
    not_before: datetime | None = None
    not_after: datetime | None = None
    withdrawn: bool = False
    rewound_at: datetime | None = None
    rewound_from: datetime | None = None
    decision: str = ""
    decided_at: datetime | None = None
    look_again_at: datetime | None = None
    no_question_before: datetime | None = None
    earlier_part_open: bool = False
    earlier_part_ended: bool = False
    unreadable: str = ""
    held: tuple[str, ...] = ()

    # What happened

    @cached_property
    def own(self) -> tuple[AttemptFact, ...]:
        """The attempts of this generation."""
        return tuple(a for a in self.attempts if a.generation == self.generation)

    @property
    def proven_accepted(self) -> bool:
        return any(a.outcome == "accepted" for a in self.attempts) or any(
            e.verdict in FOUND for e in self.evidence
        )

    @property
    def in_flight_until(self) -> datetime | None:
        return max((a.lease_until for a in self.attempts if a.held), default=None)

    @property
    def own_in_flight(self) -> bool:
        return any(a.held for a in self.own)

    @cached_property
    def first_possible_at(self) -> datetime | None:
        """The earliest moment at which anything may have been sent, forgotten sends included."""
        moments = [a.opened_at for a in self.attempts]
        forgotten = self.rewound_from or self.rewound_at
        return min([*moments, forgotten] if forgotten else moments, default=None)

    @cached_property
    def doubtful(self) -> tuple[AttemptFact, ...]:
        """The attempts that may have been accepted and that no complete search has cleared."""
        cleared = {g for g in {a.generation for a in self.attempts} if self._absent(g)}
        return tuple(a for a in self.attempts if a.ambiguous and a.generation not in cleared)

    @cached_property
    def rewound(self) -> bool:
        """A restore may have forgotten a send, and no complete search has shown otherwise."""
        return self.rewound_at is not None and not self._absent(self.generation)

    @cached_property
    def possibly_accepted(self) -> bool:
        return bool(self.doubtful) or self.rewound

    @cached_property
    def own_doubt(self) -> bool:
        """A submission under this very identity may have been accepted."""
        return self.rewound or any(a.generation == self.generation for a in self.doubtful)

    @property
    def resolved_by_absence(self) -> bool:
        """Something may have been accepted, and a complete search showed that it was not."""
        return not self.possibly_accepted and (
            self.rewound_at is not None or any(a.ambiguous for a in self.attempts)
        )

    def settled_at(self, generation: int) -> datetime | None:
        """From when on a search of this generation that finds nothing means something.

        After the last lease's end, the call's deadline and the provider's processing time: a
        worker frozen at its last check may write until then.
        """
        moments = [
            after(a.lease_until, a.deadline_s)
            for a in self.attempts
            if a.generation == generation and a.ambiguous
        ]
        if self.rewound_at is not None and generation == self.generation:
            moments.append(self.rewound_at)
        if not moments:
            return None
        return after(max(moments), self.policy.processing_s)

    def _absent(self, generation: int) -> bool:
        settled = self.settled_at(generation)
        if settled is None or not self._same_endpoint(generation):
            return False
        first = self.first_possible_at
        return any(
            e.verdict == "absent"
            and e.method in LOOK_UPS
            and e.generation == generation
            and e.taken_at >= settled
            and (e.covered_from is None or first is None or e.covered_from <= first)
            for e in self.evidence
        )

    def _same_endpoint(self, generation: int) -> bool:
        """Whether a search now looks where the attempts in doubt went."""
        here = endpoint_of(self.policy.key_scope)
        return all(
            endpoint_of(a.key_scope) == here
            for a in self.attempts
            if a.generation == generation and a.ambiguous
        )

    # What a person decided

    @property
    def told_to_go_on(self) -> bool:
        """A person decided to send, and no submission in doubt since then has used that up."""
        return self.decision in GO_ON and not any(
            a.ambiguous and self._since_decision(a) for a in self.own
        )

    @property
    def approved(self) -> bool:
        """A person said "send again" although it may have been accepted."""
        return self.decision == "send_again" and self.told_to_go_on

    @property
    def left(self) -> bool:
        """A person decided to leave it as it is: nothing is sent any more."""
        return self.decision == "leave"

    @property
    def new_since_decision(self) -> bool:
        """Whether anything happened since that the decision in force could not know."""
        since = self.decided_at
        moments = [
            *(a.closed_at or a.opened_at for a in self.attempts),
            *(e.taken_at for e in self.evidence),
            *filter(None, [self.rewound_at]),
        ]
        return since is None or any(moment > since for moment in moments)

    @cached_property
    def needs_key(self) -> bool:
        """A further submission may be a second one under this very identity.

        Only a generation of its own, which a person made, may go out beside an earlier doubt
        that no key covers.
        """
        return self.own_doubt or (self.possibly_accepted and self.generation == 1)

    def _since_decision(self, attempt: AttemptFact) -> bool:
        return self.decided_at is None or attempt.opened_at >= self.decided_at

    @cached_property
    def considered(self) -> tuple[AttemptFact, ...]:
        """The attempts whose refusals and cost count: those since the latest decision to go on."""
        if self.decision in GO_ON:
            return tuple(a for a in self.own if self._since_decision(a))
        return self.own

    # What stops it

    @property
    def refused(self) -> bool:
        return bool(self.unreadable) or any(
            a.outcome == "refused" and a.permanent for a in self.considered
        )

    @property
    def attempts_used(self) -> int:
        return sum(a.outcome in COUNTED for a in self.considered)

    @property
    def exhausted(self) -> bool:
        return self.attempts_used >= self.policy.max_attempts

    def expired(self, now: datetime) -> bool:
        return self.not_after is not None and now > self.not_after

    def ended(self, now: datetime) -> bool:
        """Stopped for good: by a person, by time, by the provider, or by the budget."""
        return self.withdrawn or self.left or self.expired(now) or self.refused or self.exhausted

    # What protects it

    @cached_property
    def key_protects_until(self) -> datetime | None:
        """The last moment at which a submission with this key may begin, or None for never.

        The window counts from the key's first use, which a restore may have forgotten; a call may
        take its whole deadline, and the margin covers what clocks and networks add. A "same key,
        other body" answer ends it.
        """
        policy, first = self.policy, self._key_first_used
        own = [a for a in self.own if a.ambiguous]
        named = not policy.key_scope.startswith("none")
        usable = (
            policy.key_honoured and policy.window_s > 0 and named and policy.key_scope and first
        )
        same_scope = all(a.key_scope == policy.key_scope for a in own)
        mismatched = any(a.outcome == "mismatch" for a in own)
        if not usable or first is None or not same_scope or mismatched:
            return None
        return after(first, policy.window_s - policy.deadline_s - policy.margin_s)

    @property
    def _key_first_used(self) -> datetime | None:
        forgotten = self.rewound_at and (self.rewound_from or self.rewound_at)
        return min(filter(None, (self.key_first_used_at, forgotten)), default=None)

    def key_protects(self, now: datetime) -> bool:
        until = self.key_protects_until
        return until is not None and now < until

    @cached_property
    def look_up_rounds(self) -> int:
        """Searches for this identity that could have settled its doubt.

        One that a person made too early proves nothing, and uses up nothing.
        """
        since = self.settled_at(self.generation)
        rounds = {
            e.taken_at
            for e in self.evidence
            if e.method in LOOK_UPS
            and e.generation == self.generation
            and (since is None or e.taken_at >= since)
        }
        return len(rounds)

    @property
    def look_asked_for(self) -> datetime | None:
        """When a person wants it searched again, until a search has begun since then."""
        at = self.look_again_at
        done = at is not None and any(
            e.method in LOOK_UPS and e.generation == self.generation and e.taken_at >= at
            for e in self.evidence
        )
        return None if done else at
