"""Fill a sample's empty ledgers with the day."""

import threading

from config.demo.day import decided, routine
from config.demo.day import open as still_open
from config.demo.day.cast import set_up_people, set_up_ways
from config.demo.day.playing import Day
from config.demo.past import the_past
from delivery.simulator.client import Simulator

THREAD_ENDS_S = 10.0
BEGINS = 71.95  # hours before now: the chart shows 72


def fill(recipient: Simulator) -> None:
    """Play the last three days, up to this moment.

    Raises:
        MisuseError: the database is not a sample.
    """
    with the_past(recipient) as past:
        day = Day(past, recipient, {})
        past.go_to(day.hence(hours=-BEGINS))
        set_up_ways(recipient)
        day.people.update(set_up_people())
        day.play((*routine.SCENES, *decided.SCENES, *still_open.SCENES))
    _wait_for_threads()


def _wait_for_threads() -> None:
    """The workers' threads have been told to end; whoever forks next must be alone.

    A Ctrl-C that another thread takes would be raised in the middle of the fork, and be swallowed.
    """
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(THREAD_ENDS_S)
