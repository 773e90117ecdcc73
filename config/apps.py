"""The top layer: settings, addresses, the embedded database, and commands that need every app."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config.health import guard  # noqa: F401, PLC0415  registers its system checks
