"""What somebody's own sender may look like: the function adapter calls these in tests."""

import asyncio
import os
import threading
from typing import Any, ClassVar

import requests


def post(*, destination: str, payload: Any, key: str, recognizer: str, deadline: float) -> str:
    """Post once, as plain code would, and raise whatever `requests` raises."""
    answer = requests.post(
        destination,
        json={"data": payload, "ref": recognizer},
        headers={"Idempotency-Key": key, "Authorization": f"Bearer {os.environ['TEST_SECRET']}"},
        timeout=deadline,
        allow_redirects=False,
    )
    answer.raise_for_status()
    named: str = answer.json()["id"]
    return named


class Said:
    """What the senders below return, raise and received; set and read by tests."""

    returns: Any = None
    raises: BaseException | None = None
    waits_for: threading.Event | None = None
    received: ClassVar[list[dict[str, Any]]] = []
    threads: ClassVar[list[threading.Thread]] = []


def told(**arguments: Any) -> Any:
    """Do as `Said` says."""
    Said.threads.append(threading.current_thread())
    Said.received.append(arguments)
    if Said.waits_for is not None:
        Said.waits_for.wait(10)
    if Said.raises is not None:
        raise Said.raises
    return Said.returns


async def told_async(**arguments: Any) -> Any:
    """The same as a coroutine; where it is to wait, it waits for ever."""
    Said.received.append(arguments)
    if Said.waits_for is not None:
        await asyncio.sleep(60)
    return Said.returns


def too_few(destination: str) -> str:
    return destination


NOT_CALLABLE = "text"
