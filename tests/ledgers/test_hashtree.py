"""The trees are those of RFC 6962: the vectors are of Google's Certificate Transparency tests."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgers import hashtree

# https://github.com/google/certificate-transparency: cpp/merkletree/merkle_tree_test.cc
ENTRIES = [
    bytes.fromhex(text)
    for text in (
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]  # fmt: skip
ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
LEAVES = [hashtree.leaf_hash(entry) for entry in ENTRIES]


@pytest.mark.parametrize("size", range(1, 9))
def test_roots_are_those_of_certificate_transparency(size: int) -> None:
    assert hashtree.root(LEAVES[:size]).hex() == ROOTS[size - 1]


def test_the_empty_tree_has_the_hash_of_nothing() -> None:
    assert hashtree.root([]) == sha256(b"").digest()


@given(st.integers(1, 70).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))))
def test_every_leaf_leads_to_the_root_by_its_path(place: tuple[int, int]) -> None:
    size, index = place
    leaves = [hashtree.leaf_hash(bytes([n])) for n in range(size)]

    found, left, last = leaves[index], index, size - 1
    for beside in hashtree.path(leaves, index):  # RFC 9162, 2.1.3.2
        if left % 2 or left == last:
            found = hashtree.node_hash(beside, found)
            while not left % 2 and left:
                left, last = left // 2, last // 2
        else:
            found = hashtree.node_hash(found, beside)
        left, last = left // 2, last // 2

    assert found == hashtree.root(leaves)


def test_a_node_is_no_leaf() -> None:
    left, right = LEAVES[:2]

    assert hashtree.node_hash(left, right) != hashtree.leaf_hash(left + right)
