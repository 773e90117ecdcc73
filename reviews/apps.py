"""The app where people decide about what machines cannot know."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ReviewsConfig(AppConfig):
    name = "reviews"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from reviews.roles import ensure_roles  # noqa: PLC0415  beside the other start-up code

        post_migrate.connect(ensure_roles, sender=self, dispatch_uid="reviews.roles")
