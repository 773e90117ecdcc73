"""One alarm per check and channel, as it goes from look to look. Pure.

It gets worse at once and better only when calm: what comes and goes within minutes is one alarm
and not ten. `serial` counts what a person is to be told; each way remembers the last one it told.
So a way that is down misses nothing, tells each transition once, and tells what came and went
meanwhile in one message.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from delivery.watch.checks import Finding, State

# How long it must have been better before it counts as over; doubled each time that it came back
# within an hour of having been over.
CALM_S, LONGEST_CALM_S = 120.0, 3_600.0
RETURNS_WITHIN_S = 3_600.0
# One old delivery that nobody decides must not hide a new outage of its channel: what has joined
# since is told too, at most so often.
JOINED_EVERY_S = 3_600.0


@dataclass(frozen=True, slots=True)
class Alarm:
    """How one check stands for one channel.

    Args:
        since: when the present or last trouble began; None before the first.
        sentence: what the present or last trouble is.
        better_since: since when what is seen has been better than `state`.
        ended_at: when the last trouble was over.
        serial: how many transitions a person is to be told of, so far.
        returns: how many times in a row the trouble came back soon.
        newest: of what was told, when the newest began; `raised_at`: when that was to be told.
        told: by way, the serial of the last transition that was accepted there.
    """

    check: str
    channel: str
    state: State = State.OK
    since: datetime | None = None
    sentence: str = ""
    better_since: datetime | None = None
    ended_at: datetime | None = None
    serial: int = 0
    returns: int = 0
    newest: datetime | None = None
    raised_at: datetime | None = None
    told: dict[str, int] = field(default_factory=dict)

    def owes(self, way: str) -> bool:
        """Whether this way has something to tell."""
        return self.told.get(way, self.serial) < self.serial


def introduced(alarm: Alarm, ways: Iterable[str]) -> Alarm:
    """The alarm with ways that it has not met: what is wrong now is news to them, nothing else."""
    known = alarm.serial - (alarm.state is not State.OK)
    fresh = {way: known for way in ways if way not in alarm.told}
    return replace(alarm, told=alarm.told | fresh) if fresh else alarm


def advanced(alarm: Alarm, seen: Finding, now: datetime) -> Alarm:
    """The alarm after one more look."""
    if seen.because:
        return alarm  # neither worse nor better by itself
    if seen.state.badness > alarm.state.badness:
        return _worse(alarm, seen, now)
    if seen.state.badness < alarm.state.badness:
        return _better(alarm, seen, now)
    if alarm.state is State.OK:
        return alarm
    same = replace(alarm, since=seen.since, sentence=seen.sentence, better_since=None)
    return _raised(same, seen, now) if _has_joined(alarm, seen, now) else same


def _has_joined(alarm: Alarm, seen: Finding, now: datetime) -> bool:
    if alarm.newest is None or seen.newest is None or alarm.raised_at is None:
        return False
    waited_s = (now - alarm.raised_at).total_seconds()
    return seen.newest > alarm.newest and waited_s >= JOINED_EVERY_S


def _raised(alarm: Alarm, seen: Finding, now: datetime) -> Alarm:
    """The alarm with one more thing to tell."""
    return replace(alarm, serial=alarm.serial + 1, newest=seen.newest, raised_at=now)


def _worse(alarm: Alarm, seen: Finding, now: datetime) -> Alarm:
    returns = alarm.returns
    if alarm.state is State.OK:
        returns = returns + 1 if _ended_lately(alarm, now) else 0
    worse = replace(
        alarm,
        state=seen.state,
        since=seen.since,
        sentence=seen.sentence,
        better_since=None,
        returns=returns,
    )
    return _raised(worse, seen, now)


def _ended_lately(alarm: Alarm, now: datetime) -> bool:
    ended = alarm.ended_at
    return ended is not None and (now - ended).total_seconds() < RETURNS_WITHIN_S


def _better(alarm: Alarm, seen: Finding, now: datetime) -> Alarm:
    since = alarm.better_since or now
    if (now - since).total_seconds() < calm_s(alarm.returns):
        return replace(alarm, better_since=since)
    if seen.state is State.OK:
        calm = replace(alarm, state=State.OK, better_since=None, ended_at=since)
        return replace(calm, serial=alarm.serial + 1)
    # From red to late is no news: a person knows, and it is not over. Red again would be.
    return replace(
        alarm, state=seen.state, since=seen.since, sentence=seen.sentence, better_since=None
    )


def calm_s(returns: int) -> float:
    """How long it must be better, in seconds, if it came back so many times."""
    return min(CALM_S * 2.0 ** min(returns, 20), LONGEST_CALM_S)


def kept(alarms: Iterable[Alarm], found: Iterable[Finding], now: datetime) -> list[Alarm]:
    """All alarms after one more look; what is not found any more, such as a channel, is ok."""
    by_place = {(alarm.check, alarm.channel): alarm for alarm in alarms}
    seen = {(one.check, one.channel): one for one in found}
    for place in by_place.keys() - seen.keys():
        seen[place] = Finding(*place, State.OK, "")
    return [advanced(by_place.get(place) or Alarm(*place), one, now) for place, one in seen.items()]
