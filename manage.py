#!/usr/bin/env python
"""Run a management command: `manage.py help` lists them."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] == ["demo"]:
        # Sample data must never enter a real append-only ledger, whatever .env says.
        os.environ.update({"COUNTERFOIL_DATA": ".data/demo", "DATABASE_URL": ""})
    from django.core.management import execute_from_command_line  # noqa: PLC0415  after the lines above

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
