"""What somebody's own sender may look like: the function adapter calls these in tests."""

import os
from typing import Any

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
