"""The frozen contents of messages, split as they were when they were recorded."""

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection

from delivery.ways import Way, Ways
from ledgers.canonical import Json, sha256

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Content:
    """A message as it was frozen. Where `parts` is empty, one of the others says why.

    `unreadable`: it is gone or damaged, for good. `changed`: the adapter would not split it as it
    did when it was recorded, until it is set up as it was.
    """

    parts: tuple[Json, ...] = ()
    unreadable: str = ""
    changed: str = ""


def read_contents(message_ids: Iterable[int], ways: Ways) -> dict[int, Content]:
    """The frozen contents of messages, each checked against its hash and split again."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, channel_id, payload, payload_hash, parts FROM ledgers_message"
            " WHERE id = ANY(%s)",
            [sorted(set(message_ids))],
        )
        return {row[0]: _content(ways.of(row[1]), *row[2:]) for row in cursor.fetchall()}


def _content(way: Way, payload: str | None, payload_hash: str, parts: int) -> Content:
    if payload is None:
        return Content(unreadable="the content was erased")
    if sha256(payload) != payload_hash:
        why = "content unreadable: it does not match the hash it was recorded with"
        return Content(unreadable=why)
    try:
        split = tuple(way.adapter.split(json.loads(payload)))
    except Exception as error:
        # One message that cannot be split any more must not stop the others of the wave.
        logger.exception("splitting a message of channel %s failed", way.channel.slug)
        return Content(changed=f"the renderer changed: it cannot split this: {error}")
    if len(split) != parts:
        why = f"the renderer changed: this was {parts} parts when recorded, now {len(split)}"
        return Content(changed=why)
    return Content(split)
