"""The top layer: settings, addresses, the embedded database, and commands that need every app."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    name = "config"
