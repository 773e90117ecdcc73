"""The app that acts: records, claims, decides, submits, settles, reconciles."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate


class DeliveryConfig(AppConfig):
    name = "delivery"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from delivery import checks, policy  # noqa: F401, PLC0415  registers the system checks
        from delivery.watch import vetting  # noqa: F401, PLC0415  registers those of alarms
        from ledgers.models import Channel  # noqa: PLC0415  models are not ready on import

        Channel.objections.append(policy.objections)
        post_migrate.connect(begin_installation, sender=self)


def begin_installation(*, using: str, plan: Any = (), **_: Any) -> None:
    """Give a new installation its first channel: agents can write before anybody configured one.

    This host keeps, outside the database, that it was there: a copy has no such witness. New is
    where the ledgers' first migration has just been made. Whoever takes the channel away later has
    a reason, so it never comes back by migrating.
    """
    from delivery.origin import note_birth  # noqa: PLC0415
    from delivery.samples import ensure_first_channel  # noqa: PLC0415
    from ledgers.models import Message  # noqa: PLC0415

    made = {(one.app_label, one.name) for one, backwards in plan if not backwards}
    new = using == "default" and ("ledgers", "0001_initial") in made
    if new:
        note_birth()
    if new and settings.COUNTERFOIL_FIRST_CHANNEL and not Message.objects.exists():
        ensure_first_channel()
