"""A first channel that needs nothing from outside: it writes into a file of the data folder.

For the first ten minutes with Counterfoil. It behaves as a good provider does: a key that it has
seen is answered with the first answer, and it can be asked for a key.
"""

import fcntl
import json
from pathlib import Path
from typing import Any

from django.conf import settings

from ledgers.canonical import Json
from ledgers.models import Channel, Credential

SLUG = "notes"
DAY_S = 86_400


def write(*, destination: str, payload: Json, key: str, recognizer: str, deadline: float) -> str:
    """Append one line to notes.jsonl, once per key; the line's number is the provider's id."""
    del deadline  # a line is written in no time
    path = notes_file()
    with path.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        lines = [json.loads(line) for line in file]
        known = _number(lines, key)
        if known:
            return str(known)
        note = {"to": destination, "content": payload, "key": key, "ref": recognizer}
        file.write(json.dumps(note) + "\n")
        return str(len(lines) + 1)


def look_up(*, key: str, **_: Any) -> str | bool:
    """The number of the line with this key, or False: the file has no such line."""
    path = notes_file()
    if not path.exists():
        return False
    with path.open(encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        number = _number([json.loads(line) for line in file], key)
    return str(number) if number else False


def _number(lines: list[dict[str, Json]], key: str) -> int:
    return next((n for n, line in enumerate(lines, 1) if line["key"] == key), 0)


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
