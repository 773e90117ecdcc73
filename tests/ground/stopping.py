"""`python -m tests.ground.stopping POINT COMMAND …`: manage.py that freezes itself at a point.

Once, at the first passing of the point of this name. SIGCONT lets it go on.
"""

import os
import sys
import tempfile
from pathlib import Path

from django.core.management import execute_from_command_line

from delivery.crashlab.points import Point, freeze
from ledgers import boundaries


def main() -> None:
    """Arm the point, then be manage.py."""
    name, *command = sys.argv[1:]
    file = Path(tempfile.mkdtemp()) / "point"
    boundaries.listen(Point(name, freeze, file).passed)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    execute_from_command_line(["manage.py", *command])


if __name__ == "__main__":
    main()
