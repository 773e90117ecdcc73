"""The evidence bundle of the trail is proven by the script that a third party has."""

import hashlib
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from ledgers import seals
from ledgers.states import DeliveryStatus as S
from tests.factories import make_channel
from tests.ledgers.rows import row_in

pytestmark = pytest.mark.django_db
CHECKER: Path = settings.BASE_DIR / "docs" / "check_bundle.py"
Files = dict[str, bytes]


@pytest.fixture
def exported(admin_client: Client) -> Files:
    make_channel()
    for n in range(3):
        row_in(S.DELIVERED, f"run-{n}")
        seals.seal_all(batch=5)
    row_in(S.DELIVERED, "run-late")  # it waits for its seal
    answer = admin_client.get(reverse("admin:trail_export", args=["bundle"]))
    with zipfile.ZipFile(io.BytesIO(b"".join(answer))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def checked(files: Files, tmp_path: Path, *words: str) -> tuple[int, str]:
    path = tmp_path / "trail.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    done = subprocess.run(
        [sys.executable, "-I", "-S", CHECKER, path, *words],
        env={}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_it_is_proven_and_says_what_waits(exported: Files, tmp_path: Path) -> None:
    code, said = checked(exported, tmp_path, "--anchor", str(seals.newest()))

    assert code == 0, said
    assert "24 events, attempts and findings, all as they were sealed" in said
    assert "9 more waited for their seal" in said


def _with_hashes(files: Files) -> Files:
    """As who changes a file would write the manifest anew."""
    manifest = json.loads(files["manifest.json"])
    manifest["sha256"] = {
        name: hashlib.sha256(data).hexdigest()
        for name, data in files.items()
        if name != "manifest.json"
    }
    return files | {"manifest.json": json.dumps(manifest).encode()}


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("records.jsonl", lambda d: d.replace(b"tester", b"nobody", 1), "is not what seal"),
        ("records.jsonl", lambda d: d.split(b"\n", 1)[1], "its sealed text is missing"),
        ("seals.json", lambda d: d.replace(b'"first": 1', b'"first": 2'), "not a chain"),
    ],
)
def test_an_edit_is_found_although_the_manifest_was_written_anew(
    name: str,
    change: Callable[[bytes], bytes],
    said: str,
    exported: Files,
    tmp_path: Path,
) -> None:
    changed = exported | {name: change(exported[name])}
    assert changed != exported

    plain, anew = checked(changed, tmp_path), checked(_with_hashes(changed), tmp_path)

    assert (plain[0], "is not what the manifest says" in plain[1]) == (1, True)
    assert (anew[0], said in anew[1]) == (1, True), anew[1]
