"""The app that acts: records, claims, decides, submits, settles, reconciles."""

from django.apps import AppConfig


class DeliveryConfig(AppConfig):
    name = "delivery"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from delivery import checks, policy  # noqa: F401, PLC0415  registers the system checks
        from ledgers.models import Channel  # noqa: PLC0415  models are not ready on import

        Channel.objections.append(policy.objections)
