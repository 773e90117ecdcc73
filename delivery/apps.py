"""The app that acts: records, claims, decides, submits, settles, reconciles."""

from django.apps import AppConfig


class DeliveryConfig(AppConfig):
    name = "delivery"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from delivery import checks  # noqa: F401, PLC0415  registers the system checks
