"""`manage.py watch`: is anything wrong, and does a person know?"""

import argparse
import logging
import os
import signal
import sys
import threading
from functools import partial
from types import FrameType
from typing import Any

from django.core.checks import run_checks
from django.core.management.base import CommandParser
from django.db import Error as DatabaseTrouble

from delivery.watch import ways
from delivery.watch.bounded import bounded
from delivery.watch.checks import BY_NAME, Finding, State
from delivery.watch.message import link, test_message
from delivery.watch.rounds import LOOK_LIMIT_S, Pusher, Round, look
from delivery.watch.store import note_use
from delivery.watch.vetting import ALARMS
from ledgers.management.command import Answer, LedgerCommand, MisuseError
from ledgers.management.words import moment, pairs, table

logger = logging.getLogger(__name__)
HEADERS = ("state", "check", "channel", "since", "what")
FIRST_LOOK_S = 10.0
EXIT_CODES = {State.OK: 0, State.LATE: 1, State.RED: 2}
NO_WAY = (
    "no alarm reaches a person: set COUNTERFOIL_ALARM_MAIL or COUNTERFOIL_ALARM_WEBHOOK"
    " (.env.example)"
)


class Command(LedgerCommand):
    help = (
        "Look whether anything is silent or unsafe: nobody works, something is overdue, unknown,\n"
        "held or without success, the database does not answer, and more (docs/alarms.md). With\n"
        "--push, tell people by mail and webhook, once per transition and channel, whatever\n"
        "workers do; send the probes of channels that ask for them; and ping the dead-man's switch."
    )
    lesson = """
        Exit codes: 0 nothing is wrong · 1 something is late · 2 something is red, or used wrongly
                    with --test-alarm: 0 every way accepted it · 1 one did not, or there is none
                    with --every: 0 ended as it was told

        Examples:
          manage.py watch
          manage.py watch --push                one look, as for cron
          manage.py watch --push --every 15     for good, as a service
          manage.py watch --test-alarm          before the night: does it reach me?
          manage.py watch --json
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--push", action="store_true", help="tell people what they do not know")
        parser.add_argument(
            "--every", type=_pause_s, metavar="SECONDS", help="look so often, until it is stopped"
        )
        parser.add_argument(
            "--test-alarm", action="store_true", help="send a test message every way, and end"
        )

    def check(self, *_: Any, **__: Any) -> None:
        """Stop for no mistake: one in the settings of one way must not silence the others."""

    def answer(self, options: dict[str, Any]) -> Answer:
        self._complain()
        if options["test_alarm"]:
            if options["push"] or options["every"]:
                raise MisuseError("--test-alarm stands alone.", "test_alarm")
            return _tested()
        pusher = Pusher() if options["push"] else None
        if options["every"]:
            self._watch(pusher, options)
            return Answer({"ended": True}, "watch ended")
        done = one_round(pusher)
        self.show(_answer(done, pushed=pusher is not None), as_json=options["json"])
        self.stdout.flush()
        sys.exit(EXIT_CODES[done.look.state])

    def _complain(self) -> None:
        for said in run_checks(tags=[ALARMS]):
            self.stderr.write(f"{said.id}: {said.msg} {said.hint or ''}".rstrip())

    def _watch(self, pusher: Pusher | None, options: dict[str, Any]) -> None:
        """Look for good. What changed is said, and nothing else.

        The first look comes after a pause: a worker that was started together with the watch is
        not called dead before it could beat.
        """
        stop = stopped_by_signals()
        last: object = None
        stop.wait(min(options["every"], FIRST_LOOK_S))
        while not stop.is_set():
            try:
                done = one_round(pusher)
            except Exception:  # whatever it is, the next look may work
                logger.exception("this look failed")
            else:
                states = [(one.check, one.channel, one.state) for one in done.look.found]
                if options["json"] or done.told or states != last:
                    said = _answer(done, pushed=pusher is not None)
                    self.show(said, as_json=options["json"])
                    self.stdout.flush()
                last = states
            stop.wait(options["every"])


def one_round(pusher: Pusher | None) -> Round:
    """Look once, and tell people if there is a pusher."""
    seen = look()
    return pusher.push(seen) if pusher else Round(seen)


def stopped_by_signals() -> threading.Event:
    """Set by SIGTERM and Ctrl-C; what is being sent is finished first. The second one ends it."""
    stop = threading.Event()

    def end(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        os.write(2, b"watch: ending\n")
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    return stop


def _answer(done: Round, *, pushed: bool) -> Answer:
    wrong = [one for one in done.look.found if one.state is not State.OK]
    told = [(one.way, one.why_not or f"told {_alarms(one.alarms)}") for one in done.told]
    value = {
        "state": done.look.state.value,
        "at": done.look.at,
        "checks": [_as_json(one) for one in done.look.found],
        "told": [{"way": t.way, "alarms": t.alarms, "why_not": t.why_not} for t in done.told],
    }
    lines = [table(HEADERS, [_line(one) for one in wrong]) or "nothing is wrong"]
    lines += [pairs(told)] if told else []
    lines += [NO_WAY] if pushed and not ways.configured() else []
    return Answer(value, "\n\n".join(lines))


def _alarms(number: int) -> str:
    return f"{number} alarm{'' if number == 1 else 's'}"


def _line(one: Finding) -> tuple[object, ...]:
    because = f" (explained by {one.because})" if one.because else ""
    return one.state.value, one.check, one.channel, moment(one.since), one.sentence + because


def _as_json(one: Finding) -> dict[str, Any]:
    return {
        "check": one.check,
        "channel": one.channel,
        "state": one.state.value,
        "since": one.since,
        "sentence": one.sentence,
        "because": one.because,
        "link": link(BY_NAME[one.check], one.channel),
    }


def _tested() -> Answer:
    """Send a test every way, and note what became of it where the database answers."""
    results = [(way, way.send(test_message())) for way in ways.configured()]
    for way, why_not in results:
        try:
            bounded(LOOK_LIMIT_S, partial(note_use, way.name, why_not))
        except (DatabaseTrouble, TimeoutError):
            logger.warning("the database does not answer; the result of the test is not kept")
    value = {"ways": [{"way": w.shown, "accepted": not y, "why_not": y} for w, y in results]}
    text = pairs([(way.shown, why_not or "accepted") for way, why_not in results]) or NO_WAY
    return Answer(value, text, finding=not results or any(why_not for _, why_not in results))


def _pause_s(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 1 <= number <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 1 to 86400")
    return number
