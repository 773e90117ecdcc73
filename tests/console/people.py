"""People of each role, and those of none."""

from django.contrib.auth.models import Group, User
from django.test import Client

from reviews.roles import ROLES

# Besides the roles: signed in without any, not staff, and nobody at all.
OTHERS = ("superuser", "staff", "outsider", "anonymous")
EVERYBODY = (*ROLES, *OTHERS)


def person(role: str) -> User:
    """Somebody of this role; the same one each time."""
    user, made = User.objects.get_or_create(
        username=role,
        defaults={"is_staff": role != "outsider", "is_superuser": role == "superuser"},
    )
    if made and role in ROLES:
        user.groups.add(Group.objects.get(name=role))
    if made and role == "outsider":
        # Every permission, but not let in.
        user.groups.set(Group.objects.all())
    return user


def browser_of(role: str) -> Client:
    """A browser in which somebody of this role is signed in."""
    client = Client()
    if role != "anonymous":
        client.force_login(person(role))
    return client
