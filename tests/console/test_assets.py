"""What the console sends besides its pages stays small, and its own."""

import gzip

import pytest
from django.conf import settings

OWN = settings.BASE_DIR / "reviews" / "static" / "console"
# Bytes as written, and as they travel.
LIMITS = {"console.css": (20_000, 5_500), "console.js": (3_200, 1_600)}


@pytest.mark.parametrize("name", LIMITS)
def test_our_own_assets_stay_small(name: str) -> None:
    text = (OWN / name).read_bytes()
    written, travelling = LIMITS[name]

    assert len(text) <= written
    assert len(gzip.compress(text)) <= travelling


def test_our_own_assets_name_no_other_host() -> None:
    for path in OWN.iterdir():
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http" not in text
        assert "url(" not in text
        assert "@import" not in text
