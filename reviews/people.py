"""Who decides: an account of the console, or whoever types at a shell."""

from dataclasses import dataclass
from typing import Protocol

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User

from ledgers.models.trail import MAX_ACTOR


class Request(Protocol):
    """What somebody asked for, with their name of then and their account."""

    requested_by: str
    requester_id: int | None


@dataclass(frozen=True, slots=True)
class Person:
    """A person as the trail names them.

    `user`: their account. Who has none types at a shell of this machine, and may do there what
    one person may do; where two people are needed, both have accounts.
    """

    name: str
    user: User | None = None

    @property
    def user_id(self) -> int | None:
        return self.user.pk if self.user else None

    def may(self, permission: str) -> bool:
        """Whether they have a permission of the console."""
        if self.user is None:
            return permission != "approve"
        return self.user.is_active and self.user.has_perm(f"reviews.{permission}")

    def asked_for(self, one: Request) -> bool:
        """Whether it is theirs: by account, since another person may have got the name of then."""
        if one.requester_id is None and self.user is None:
            return one.requested_by == self.name
        return one.requester_id == self.user_id


def person_of(user: AbstractBaseUser | AnonymousUser) -> Person:
    """The person behind an account."""
    if not isinstance(user, User):
        return Person("nobody")
    return Person(user.get_username()[:MAX_ACTOR], user)
