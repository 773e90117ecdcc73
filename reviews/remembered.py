"""Numbers that many open tabs ask for: computed once, then remembered for some seconds."""

from collections.abc import Callable
from typing import TypeVar, cast

from django.core.cache import cache

T = TypeVar("T")
SHORT_S, LONG_S = 5, 30


def remembered(name: str, seconds: int, compute: Callable[[], T]) -> T:
    """The value of this name, at most so old."""
    key = f"console:{name}"
    found = cache.get(key)
    if found is None:
        found = compute()
        cache.set(key, found, seconds)
    return cast("T", found)


def forget(name: str) -> None:
    """Compute it anew when it is asked for next: it was just changed."""
    cache.delete(f"console:{name}")
