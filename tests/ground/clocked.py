"""`python -m tests.ground.clocked COMMAND …`: manage.py on a machine whose clock steps.

SIGUSR1 puts the wall clock of this process an hour ahead of where it is, SIGUSR2 an hour back.
"""

import datetime as real
import os
import signal
import sys
import time

from django.core.management import execute_from_command_line
from django.utils import timezone

HOUR_S = 3600.0
FORWARD, BACK = signal.SIGUSR1, signal.SIGUSR2


def main() -> None:
    """Step when told to; be manage.py otherwise."""
    offset_s = 0.0
    true_time, true_now = time.time, timezone.now

    def step(number: int, _: object) -> None:
        nonlocal offset_s
        offset_s += HOUR_S if number == FORWARD else -HOUR_S

    time.time = lambda: true_time() + offset_s
    timezone.now = lambda: true_now() + real.timedelta(seconds=offset_s)
    signal.signal(FORWARD, step)
    signal.signal(BACK, step)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    execute_from_command_line(["manage.py", *sys.argv[1:]])


if __name__ == "__main__":
    main()
