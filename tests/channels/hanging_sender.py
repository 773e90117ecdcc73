"""A sender whose module hangs when it is imported, until it is let go."""

import asyncio
from typing import Any

from tests.channels.senders import Said

loop = asyncio.get_event_loop()
if Said.waits_for is not None:
    Said.waits_for.wait(60)


def send(**received: Any) -> str:
    del received
    return "id-1"
