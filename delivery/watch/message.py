"""What a person reads: one plain sentence on top, what it means, what to do, and a link.

Names come from people and are hostile: they are shown without control characters, so that none can
begin a mail header or a line of its own. No payload, no destination and no secret is in an alarm.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse

from delivery.watch.alarms import Alarm
from delivery.watch.checks import BY_NAME, CHECKS, Check, State
from ledgers.management.words import moment, plain

LISTED = 20  # alarms of one check that are listed; the rest is counted
LONGEST_SUBJECT = 180


@dataclass(frozen=True, slots=True)
class Message:
    """One message, whatever way it goes.

    `id`: the same whenever the same alarms are told in the same words, so that a recipient can tell
    that a message came twice.
    """

    id: str
    subject: str
    text: str
    value: dict[str, Any]


def link(check: Check, channel: str) -> str:
    """Where a person finds it in the console, narrowed to the channel."""
    return f"{settings.COUNTERFOIL_CONSOLE_URL.rstrip('/')}{place(check, channel)}"


def place(check: Check, channel: str) -> str:
    """The same within the console."""
    address = reverse(check.view, args=check.view_args)
    if check.per_channel and channel:
        address += f"?{urlencode({'channel': channel})}"
    return f"{address}#{check.anchor}" if check.anchor else address


def message_of(alarms: Iterable[Alarm]) -> Message:
    """One message about all these alarms, the worst first, what is over last."""
    ordered = sorted(alarms, key=lambda a: (-a.state.badness, _order(a), a.channel))
    text = "\n\n".join((_first_sentence(ordered), *_sections(ordered), _FOOT)) + "\n"
    return Message(_id(ordered), _subject(ordered), text, _value(ordered))


_FOOT = (
    "Sent by the watch, which does not depend on workers. It says so once when something is wrong"
    " and once when it is over."
)


def test_message() -> Message:
    """What shows that the way works."""
    text = (
        "This is a test: nothing is wrong.\n\nIt shows that alarms reach you this way. A real one"
        f" says what is wrong, what it means and what to do, with a link to\n"
        f"{settings.COUNTERFOIL_CONSOLE_URL}\n"
    )
    value = {
        "type": "counterfoil.alarm_test",
        "environment": settings.COUNTERFOIL_ENVIRONMENT,
        "text": text,
        "alarms": [],
    }
    return Message("", f"{_prefix()} test: alarms reach you", text, value)


def _prefix() -> str:
    return f"[Counterfoil {plain(settings.COUNTERFOIL_ENVIRONMENT)}]"


def _order(alarm: Alarm) -> int:
    return list(BY_NAME).index(alarm.check) if alarm.check in BY_NAME else len(CHECKS)


def _subject(ordered: Sequence[Alarm]) -> str:
    """The worst of them, and how many more."""
    first = ordered[0]
    state = "over" if first.state is State.OK else first.state.value
    on = f" on {plain(first.channel)}" if first.channel else ""
    said = f"{_prefix()} {state}: {_headline(first)}{on}"
    more = f", and {len(ordered) - 1} more" if len(ordered) > 1 else ""
    return said[: LONGEST_SUBJECT - len(more)] + more


def _headline(alarm: Alarm) -> str:
    return BY_NAME[alarm.check].headline if alarm.check in BY_NAME else plain(alarm.check)


def _first_sentence(ordered: Sequence[Alarm]) -> str:
    more = len(ordered) - 1
    return _sentence(ordered[0]) + (f" And {more} more, below." if more else "")


def _sentence(alarm: Alarm) -> str:
    if alarm.state is not State.OK:
        return plain(alarm.sentence)
    on = f" on channel {plain(alarm.channel)}" if alarm.channel else ""
    return f"It is over: {_headline(alarm)}{on}."


def _sections(ordered: Sequence[Alarm]) -> list[str]:
    """What is wrong by check, each with its meaning once; then what is over."""
    wrong = [one for one in ordered if one.state is not State.OK]
    over = [one for one in ordered if one.state is State.OK]
    checks = dict.fromkeys(one.check for one in wrong)
    sections = [_section(BY_NAME[name], [a for a in wrong if a.check == name]) for name in checks]
    return [*sections, *([_over(over)] if over else [])]


def _section(check: Check, alarms: Sequence[Alarm]) -> str:
    return "\n".join(
        (
            *(_item(check, one) for one in alarms[:LISTED]),
            *_rest(alarms),
            "",
            f"What it means: {check.means}",
            f"What to do: {check.to_do}",
        )
    )


def _item(check: Check, alarm: Alarm) -> str:
    since = f"\n  since {moment(alarm.since)}" if alarm.since else ""
    return (
        f"{alarm.state.value.upper()}: {plain(alarm.sentence)}{since}"
        f"\n  {link(check, alarm.channel)}"
    )


def _rest(alarms: Sequence[Alarm]) -> tuple[str, ...]:
    more = len(alarms) - LISTED
    return (f"and {more} channels more",) if more > 0 else ()


def _over(alarms: Sequence[Alarm]) -> str:
    return "\n".join((*map(_ended, alarms[:LISTED]), *_rest(alarms)))


def _ended(alarm: Alarm) -> str:
    lasted = f" from {moment(alarm.since)}" if alarm.since else ""
    until = f" until {moment(alarm.ended_at)}" if alarm.ended_at else ""
    return f"OVER: {_sentence(alarm)}\n  It was{lasted}{until}: {plain(alarm.sentence)}"


def _id(ordered: Sequence[Alarm]) -> str:
    """From what is told, never from a clock: a message that is sent again keeps its id."""
    told = "\n".join(f"{a.check}\x00{a.channel}\x00{a.serial}\x00{a.since}" for a in ordered)
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:32]


def _value(ordered: Sequence[Alarm]) -> dict[str, Any]:
    """For programs; chat tools that take a `text` show that one."""
    return {
        "type": "counterfoil.alarm",
        "environment": settings.COUNTERFOIL_ENVIRONMENT,
        "text": "\n".join([_first_sentence(ordered), *_links(ordered)]),
        "alarms": [_as_json(one) for one in ordered],
    }


def _links(ordered: Sequence[Alarm]) -> list[str]:
    wrong = [a for a in ordered if a.state is not State.OK]
    return [link(BY_NAME[a.check], a.channel) for a in wrong[:LISTED] if a.check in BY_NAME]


def _as_json(alarm: Alarm) -> dict[str, Any]:
    check = BY_NAME.get(alarm.check)
    return {
        "check": alarm.check,
        "channel": alarm.channel,
        "state": alarm.state.value,
        "sentence": _sentence(alarm),
        "since": alarm.since,
        "ended_at": alarm.ended_at if alarm.state is State.OK else None,
        "means": check.means if check else "",
        "to_do": check.to_do if check else "",
        "link": link(check, alarm.channel) if check else "",
    }
