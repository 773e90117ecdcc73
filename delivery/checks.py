"""System checks: misconfiguration is found at start-up, with an id and a hint."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004
from django.db import ProgrammingError, connection

OLDEST_POSTGRESQL = 15


@register(Tags.database)
def database_is_postgresql(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """The promises rest on PostgreSQL's locks, triggers and clock; nothing else will do."""
    engine = settings.DATABASES["default"]["ENGINE"]
    if connection.vendor != "postgresql":
        return [
            Error(
                f"The database engine is {engine}, but the ledgers need PostgreSQL.",
                hint="Unset DATABASE_URL for the embedded one, or name a PostgreSQL server in it.",
                id="delivery.E001",
            )
        ]
    if not databases:
        return []
    version = connection.get_database_version()[0]
    if version >= OLDEST_POSTGRESQL:
        return []
    return [
        Error(
            f"The database server is PostgreSQL {version}.",
            hint="Use PostgreSQL 15 or newer.",
            id="delivery.E002",
        )
    ]


@register(Tags.database)
def channels_are_sound(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Every channel's lease, schedules and settings, as they would be refused when saved."""
    if not databases or connection.vendor != "postgresql":
        return []
    from delivery.policy import complaints  # noqa: PLC0415  models are not ready on import
    from ledgers.models import Channel  # noqa: PLC0415

    try:
        channels = list(Channel.objects.select_related("credential"))
    except ProgrammingError:
        return []  # not migrated yet
    return [
        (Error if complaint.fatal else Warning)(
            f"Channel {channel.slug}, {complaint.field}: {complaint.text}.",
            hint=complaint.hint,
            id=complaint.id,
        )
        for channel in channels
        for complaint in complaints(channel)
    ]


@register(Tags.database)
def role_cannot_lift_the_guards(
    databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Triggers keep the trail append-only, unless who connects may switch them off."""
    if not databases or connection.vendor != "postgresql":
        return []
    if settings.COUNTERFOIL_MODE != "production":
        return []  # the embedded server has one role
    with connection.cursor() as cursor:
        cursor.execute(_ROLE)
        role, is_superuser, is_owner = cursor.fetchone()
    if not (is_superuser or is_owner):
        return []
    why = "is a superuser" if is_superuser else "owns the ledgers' tables"
    return [
        Warning(
            f"The database role {role} {why}, so it could switch off the triggers that keep the"
            " trail append-only.",
            hint="Migrate as the owner; let workers, agents and the console connect as a role of"
            " their own (docs/database-role.md).",
            id="delivery.W016",
        )
    ]


# A member of the owner counts as the owner: it can become it.
_ROLE = """
SELECT current_user, r.rolsuper,
    EXISTS (SELECT FROM pg_tables
            WHERE schemaname = current_schema() AND tablename = 'ledgers_event'
                AND pg_has_role(current_user, tableowner, 'MEMBER'))
FROM pg_roles r WHERE r.rolname = current_user"""
