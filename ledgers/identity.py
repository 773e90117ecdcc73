"""A delivery's identity, key and recognizer: derived from where it stands in the work.

Never from its text, a clock, a transcript or a sequence. So a step that is executed again, a second
caller, and a restored database all arrive at the same identity, key and recognizer.
"""

import base64
import hashlib
import hmac
import json
import uuid
from dataclasses import dataclass

KEY_FORMS = ("uuid", "token")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands in the work. `part` and `generation` count from 1."""

    run_id: str
    step_id: str
    version: int
    message: str
    channel: str
    destination: str
    part: int
    generation: int


def delivery_id(namespace: uuid.UUID, place: Place) -> uuid.UUID:
    """The identity of one delivery, within one installation's namespace."""
    fields = [
        place.run_id,
        place.step_id,
        place.version,
        place.message,
        place.channel,
        place.destination,
        place.part,
        place.generation,
    ]
    return uuid.uuid5(namespace, json.dumps(fields, ensure_ascii=False, separators=(",", ":")))


def idempotency_key(identity: uuid.UUID, form: str, max_length: int) -> str:
    """The key for a provider, in the form it declares.

    Args:
        identity: the delivery's identity.
        form: `uuid` (hyphenated, 36 characters) or `token` (a letter, then a-z and 2-7).
        max_length: the provider's limit in characters; a token needs at least 20 to be unique.

    Raises:
        ValueError: if the form is not known or does not fit.
    """
    if form == "uuid" and max_length >= 36:
        return str(uuid.uuid5(identity, "idempotency-key"))
    if form == "token" and max_length >= 20:
        return ("k" + _base32(hashlib.sha256(b"key:" + identity.bytes).digest()))[
            : min(max_length, 53)
        ]
    raise ValueError(f"no idempotency key of form {form!r} fits in {max_length} characters")


def recognizer(identity: uuid.UUID, secret: bytes) -> str:
    """The token by which our own message is found again: `dlv` and 20 letters or digits.

    Lower-case letters and digits only and 23 characters: it survives Markdown, one word of a
    search, Discord's 25 and header folding. The secret keeps others from minting one.
    """
    digest = hmac.new(secret, b"recognizer:" + identity.bytes, hashlib.sha256).digest()
    return "dlv" + _base32(digest)[:20]


def _base32(data: bytes) -> str:
    return base64.b32encode(data).decode().rstrip("=").lower()
