"""A first channel that needs nothing from outside: it writes into a file of the data folder.

For the first ten minutes with Counterfoil. It behaves as a good provider does: a key that it has
seen is answered with the first answer, and it can be asked for a key.
"""

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from django.conf import settings

from delivery.errors import NotSentError
from ledgers.canonical import Json
from ledgers.models import Channel, Credential

SLUG = "notes"
DAY_S = 86_400


def write(*, destination: str, payload: Json, key: str, recognizer: str, deadline: float) -> str:
    """Append one line to notes.jsonl, once per key; the line's number is the provider's id.

    Raises:
        NotSentError: the file did not take the whole line; nothing of it is left.
    """
    del deadline  # a line is written in no time
    note = {"to": destination, "content": payload, "key": key, "ref": recognizer}
    with notes_file().open("ab+", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        lines = _lines(file.fileno())
        if known := _number(lines, key):
            return str(known)
        # A line that was cut short is ended first, so that it spoils no other one.
        is_torn = bool(lines) and not lines[-1].endswith(b"\n")
        _append(file.fileno(), b"\n" * is_torn + json.dumps(note).encode() + b"\n")
        return str(len(lines) + 1)


def _append(descriptor: int, line: bytes) -> None:
    """In one write: a process that is killed between two would leave half a line."""
    size = os.fstat(descriptor).st_size
    try:
        written = os.write(descriptor, line)
    except OSError as error:
        raise NotSentError(f"the file takes nothing: {error.strerror}") from error
    if written < len(line):  # a full disk takes what it can
        os.ftruncate(descriptor, size)
        raise NotSentError(f"the file took {written} of {len(line)} bytes, which were taken back")


def look_up(*, key: str, **_: Any) -> str | bool:
    """The number of the line with this key, or False: the file has no such line."""
    path = notes_file()
    if not path.exists():
        return False
    with path.open("rb", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        number = _number(_lines(file.fileno()), key)
    return str(number) if number else False


def _lines(descriptor: int) -> list[bytes]:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0).splitlines(keepends=True)


def _number(lines: list[bytes], key: str) -> int:
    return next((n for n, line in enumerate(lines, 1) if _key(line) == key), 0)


def _key(line: bytes) -> Json:
    """The key of a note; None for what is none, such as a line whose writing was cut short.

    No note was ever answered for such a line, so it is no note. One that lacks its end only is.
    """
    try:
        note = json.loads(line)
    except ValueError:
        return None
    return note.get("key") if isinstance(note, dict) else None


def notes_file() -> Path:
    """Where the notes go."""
    folder: Path = settings.COUNTERFOIL_DATA
    return folder / "notes.jsonl"


def ensure_first_channel() -> Channel | None:
    """Make the channel `notes` where no channel is configured yet; None where one is."""
    if Channel.objects.exists():
        return None
    credential, _ = Credential.objects.get_or_create(
        name=SLUG, defaults={"destination_rules": ["*"]}
    )
    return Channel.objects.create(
        slug=SLUG,
        adapter="function",
        credential=credential,
        settings={
            "path": f"{__name__}.write",
            "look_up_path": f"{__name__}.look_up",
            "look_up_authoritative": True,
            "dedupe_window_s": DAY_S,
        },
    )
