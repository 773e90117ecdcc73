"""Roles are groups, kept as they are written here after every migration.

Permissions do not exist while migrations run, so this follows `post_migrate`. A person may have
several roles. Being signed in takes `is_staff` besides.
"""

from typing import Any

# Records without contents, which every person with a role may look at.
RECORDS = (
    "ledgers.view_run",
    "ledgers.view_delivery",
    "ledgers.view_outboxitem",
    "ledgers.view_event",
    "ledgers.view_channel",
    "ledgers.view_credential",
    "delivery.view_worker",
)
# Records that show contents, answers or results; opening one is in the trail.
CONTENTS = (
    "reviews.view_payload",
    "ledgers.view_step",
    "ledgers.view_message",
    "ledgers.view_attempt",
    "ledgers.view_evidence",
)
SEES = ("reviews.view_console", *RECORDS)
ROLES: dict[str, tuple[str, ...]] = {
    # Looks, and sees no contents.
    "viewer": SEES,
    # Works on unknown deliveries: evidence, and what one person may decide.
    "triager": (*SEES, *CONTENTS, "reviews.triage", "reviews.decide"),
    # The second person.
    "approver": (*SEES, *CONTENTS, "reviews.approve"),
    # Keeps the ways out: settings, pauses, the hold of everything. Sees no contents.
    "operator-admin": (
        *SEES,
        "reviews.operate_channels",
        "reviews.edit_channels",
        "reviews.purge",
    ),
    # Looks at everything and takes it away to be checked; changes nothing.
    "auditor": (*SEES, *CONTENTS, "reviews.export_trail"),
    # A program's account: it is somebody in the trail, and may open or decide nothing here.
    "service": (),
}


def having(permission: str) -> list[str]:
    """The roles that have this permission of the console."""
    return [role for role, has in ROLES.items() if f"reviews.{permission}" in has]


def ensure_roles(using: str = "default", **_: Any) -> None:
    """Make the groups, and give each exactly its permissions."""
    from django.contrib.auth.models import Group, Permission  # noqa: PLC0415  apps not ready

    ids = {
        f"{app}.{codename}": pk
        for app, codename, pk in Permission.objects.using(using).values_list(
            "content_type__app_label", "codename", "pk"
        )
    }
    Group.objects.using(using).bulk_create([Group(name=n) for n in ROLES], ignore_conflicts=True)
    groups = dict(Group.objects.using(using).filter(name__in=ROLES).values_list("name", "pk"))
    link = Group.permissions.through
    wanted = {
        (groups[role], ids[permission])
        for role, permissions in ROLES.items()
        for permission in permissions
        if permission in ids  # an app that is migrated alone knows only its own
    }
    rows = link.objects.using(using).filter(group_id__in=groups.values())
    present = {(row.group_id, row.permission_id): row.pk for row in rows}
    stale = [pk for pair, pk in present.items() if pair not in wanted]
    rows.filter(pk__in=stale).delete()
    link.objects.using(using).bulk_create(
        [link(group_id=g, permission_id=p) for g, p in sorted(wanted - present.keys())]
    )
