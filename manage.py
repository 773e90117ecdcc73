#!/usr/bin/env python
"""Run a management command: `manage.py help` lists them."""

import os
import sys

MISUSE, INTERRUPTED = 2, 130


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    drill = sys.argv[1:2] == ["drill"] and not any(a.startswith("--channel") for a in sys.argv)
    if sys.argv[1:2] == ["demo"] or drill:
        # Sample data must never enter a real append-only ledger, whatever .env says.
        os.environ.update({"COUNTERFOIL_DATA": ".data/demo", "DATABASE_URL": ""})
        os.environ["COUNTERFOIL_ENVIRONMENT"] = "demo"
    try:
        return run()
    except KeyboardInterrupt:  # also while modules are imported: no one wants to see where
        return INTERRUPTED


def run() -> int:
    """The command's exit code. What keeps every command from running is told in one line."""
    try:
        from django.conf import settings  # noqa: PLC0415
        from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415
        from django.core.management import execute_from_command_line  # noqa: PLC0415
    except ImportError as error:
        return refuse(foreign_python(error))
    try:
        settings.INSTALLED_APPS  # noqa: B018  the first look reads all settings
    except ImproperlyConfigured as error:
        return refuse(str(error), getattr(error, "name", ""))
    except ModuleNotFoundError as error:
        return refuse(foreign_python(error))
    execute_from_command_line(sys.argv)
    return 0


def foreign_python(error: ImportError) -> str:
    return (
        f"{sys.executable} has not what Counterfoil needs ({error})."
        " Run: .venv/bin/python manage.py ..., which `make setup` makes."
    )


def refuse(text: str, field: str = "") -> int:
    """Say why nothing is done; to a program as JSON too, as every command does."""
    if "--json" in sys.argv:
        import json  # noqa: PLC0415  at the top, Ctrl-C during its import would be a traceback

        sys.stdout.write(json.dumps({"error": text, "field": field}) + "\n")
    sys.stderr.write(text + "\n")
    return MISUSE


if __name__ == "__main__":
    sys.exit(main())
