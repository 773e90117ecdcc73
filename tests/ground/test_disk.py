"""The disk under the attempts is full: nothing can be written ahead, so nothing is sent."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.embedded.processes import until
from tests.ground.desk import Desk

SIZE_MB = 16
ROWS = 60  # attempts: more than fit into the page that is begun


@pytest.fixture
def small_disk(desk: Desk, tmp_path: Path) -> Iterator[Path]:
    """A small file system with the table of attempts on it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(disk)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"a file system of one's own needs root: {mounted.stderr.strip()}")
    try:
        home = disk / "space"
        home.mkdir(mode=0o700)
        owner = desk.scene.server.cluster.pgdata.stat().st_uid
        os.chown(home, owner, -1)
        tmp_path.chmod(0o755)
        with desk.scene.server.owner() as server:
            server.execute(f"CREATE TABLESPACE small LOCATION '{home}'".encode())
            server.execute(b"ALTER TABLE ledgers_attempt SET TABLESPACE small")
        yield disk
        desk.clear()
        with desk.scene.server.owner() as server:
            server.execute(b"ALTER TABLE ledgers_attempt SET TABLESPACE pg_default")
            server.execute(b"DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def fill(disk: Path) -> Path:
    """Leave no room."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    return ballast


@pytest.mark.service("tmpfs")
def test_nothing_is_sent_while_the_disk_is_full_and_all_of_it_afterwards(
    desk: Desk, small_disk: Path
) -> None:
    worker = desk.worker()
    ballast = fill(small_disk)

    rooms = [desk.record(str(number), "keyed") for number in range(ROWS)]
    until(lambda: worker.said("No space left on device"), "the worker says what is wrong")
    waiting = [room for room in rooms if desk.row(room).status == "pending"]
    sent_in_vain = [room for room in waiting if desk.seen(room) != (0, 0)]
    ballast.unlink()
    for room in rooms:
        desk.until_status(room, "delivered")

    assert waiting
    assert sent_in_vain == []
    assert {desk.seen(room) for room in rooms} == {(1, 1)}
    assert worker.said("Traceback") == 0
