"""Plain ways to speak to a recipient, without any code of the adapters."""

import http.client
import json
import socket
from typing import Any
from urllib.parse import urlsplit

from delivery.simulator.client import Simulator

BODY = json.dumps({"to": "ops", "text": "hi"})


def post(
    recipient: Simulator, to: str = "ops", key: str = "k", text: str = "hi", timeout: float = 5
) -> tuple[int, Any, dict[str, str]]:
    """One submission: status, body (JSON where it is), header fields in lower case."""
    said = json.dumps({"to": to, "text": text, "recognizer": f"ref{key}"})
    return call(recipient, "POST", "/v1/messages", said, {"Idempotency-Key": key}, timeout)


def get(recipient: Simulator, path: str) -> tuple[int, Any]:
    status, body, _ = call(recipient, "GET", path)
    return status, body


def call(
    recipient: Simulator,
    method: str,
    path: str,
    body: str = "",
    headers: dict[str, str] | None = None,
    timeout: float = 5,
) -> tuple[int, Any, dict[str, str]]:
    connection = http.client.HTTPConnection(urlsplit(recipient.url).netloc, timeout=timeout)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        raw = answer.read()
        told = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, read_json(raw), told
    finally:
        connection.close()


def read_json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw


def connect(recipient: Simulator, timeout: float = 5) -> socket.socket:
    parts = urlsplit(recipient.url)
    return socket.create_connection((str(parts.hostname), parts.port or 0), timeout)


def submission(to: str = "ops", key: str = "k") -> bytes:
    """One submission as bytes, for those who write it themselves."""
    body = BODY if to == "ops" else json.dumps({"to": to, "text": "hi"})
    return (
        f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nIdempotency-Key: {key}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()
