"""Merkle hash trees as RFC 6962, section 2.1, has them: SHA-256, leaves and nodes told apart.

Pure functions. `docs/check_bundle.py` checks with code of its own, so that one mistake in here
would not be made twice.
"""

import hashlib
from collections.abc import Sequence

SIZE = 32  # bytes of a hash


def leaf_hash(data: bytes) -> bytes:
    """The hash of one entry. PostgreSQL computes the same in `ledgers_leaves`."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """The hash of the whole tree over leaf hashes."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    return levels_of(leaves)[-1][0]


def path(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """What the leaf at `index` must be hashed with, from the leaf upwards, to get to the root."""
    return path_in(levels_of(leaves), index)


def path_in(levels: Sequence[Sequence[bytes]], index: int) -> list[bytes]:
    """As `path`, over levels that were computed once for many leaves."""
    found = []
    for level in levels[:-1]:
        beside = index ^ 1
        if beside < len(level):
            found.append(level[beside])
        index //= 2
    return found


def levels_of(leaves: Sequence[bytes]) -> list[Sequence[bytes]]:
    """All levels from the leaves to the root. A node without a partner moves up as it is.

    That gives the trees of RFC 6962, which splits at the largest power of two: its left part is
    whole, so only the last node of a level can be alone.
    """
    levels: list[Sequence[bytes]] = [leaves]
    while len(level := levels[-1]) > 1:
        pairs = [node_hash(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
        levels.append(pairs + list(level[len(level) - len(level) % 2 :]))
    return levels
