"""Saying no in the middle of something: nothing of it stays, and the trail keeps the no."""

from reviews.errors import NotAllowedError
from reviews.judged import Refusal


def refuse_unless(holds: bool, refusal: Refusal) -> None:  # noqa: FBT001  reads as a sentence
    """Raises `NotAllowedError` where it does not hold."""
    if not holds:
        raise NotAllowedError(refusal)


def refuse_if(refusal: Refusal | None) -> None:
    """Raises `NotAllowedError` where something speaks against it."""
    if refusal is not None:
        raise NotAllowedError(refusal)


def lacks(permission: str) -> Refusal:
    """A permission of the console is missing."""
    return Refusal(
        f"the permission {permission} is missing", f"somebody who has the permission {permission}"
    )
