"""People with roles, as tests name them."""

from django.contrib.auth.models import Group, User

from reviews.people import Person, person_of


def account(name: str, *roles: str, superuser: bool = False) -> User:
    """Somebody who may sign in, with these roles."""
    user = User.objects.create_user(
        name, password="a long password", is_staff=True, is_superuser=superuser
    )
    user.groups.set(Group.objects.filter(name__in=roles))
    return user


def person(name: str, *roles: str, superuser: bool = False) -> Person:
    """The person behind a new account."""
    return person_of(account(name, *roles, superuser=superuser))
