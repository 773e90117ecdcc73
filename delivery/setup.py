"""An agent's script need not know Django: importing `delivery.agent` is enough."""

import os
import sys
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings


def ensure_django() -> None:
    """Configure Django with this project's settings, if nobody did."""
    if settings.configured and (apps.ready or apps.apps_ready):
        return
    if not settings.configured and "DJANGO_SETTINGS_MODULE" not in os.environ:
        os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
        root = str(Path(__file__).resolve().parent.parent)
        if root not in sys.path:
            sys.path.append(root)
    django.setup()
