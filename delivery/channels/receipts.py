"""What reports of different providers have in common: signatures, and how they are read.

A report that is not proven to come from the provider is refused as a whole: it could settle an
unknown delivery that nobody ever got.
"""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

from delivery.channels.contract import Posted
from delivery.channels.scanning import moment
from delivery.errors import BadReceiptError, ForgedReceiptError, SecretError

# Standard Webhooks: how old a report may be, against replays of what was once signed.
TOLERANCE_S = 300.0


def verify_standard_webhook(posted: Posted, secret: str, prefix: str = "webhook") -> None:
    """Verify the signature of Standard Webhooks; `prefix` is `svix` with providers that use it.

    Source: standard-webhooks/spec/standard-webhooks.md @b2fa7b8.

    Raises:
        ForgedReceiptError: without the right signature, or too old.
    """
    if not secret:
        raise ForgedReceiptError("the channel has no receipt_secret_ref: nothing can be verified")
    named = posted.headers.get(f"{prefix}-id", "")
    stamp = posted.headers.get(f"{prefix}-timestamp", "")
    signatures = posted.headers.get(f"{prefix}-signature", "")
    if not stamp.isdigit() or abs(posted.at.timestamp() - int(stamp)) > TOLERANCE_S:
        raise ForgedReceiptError(f"its {prefix}-timestamp is missing, or not of these minutes")
    signed = f"{named}.{stamp}.".encode() + posted.body
    expected = [_standard(one, signed) for one in secret.split()]
    given = [one.removeprefix("v1,") for one in signatures.split() if one.startswith("v1,")]
    if not any(hmac.compare_digest(a, b) for a in expected for b in given if b.isascii()):
        raise ForgedReceiptError(f"its {prefix}-signature is not ours")


def _standard(secret: str, signed: bytes) -> str:
    encoded = secret.removeprefix("whsec_")
    try:
        key = base64.b64decode(encoded) if encoded != secret else secret.encode()
    except ValueError:  # its own text is none that may be kept
        raise SecretError("receipt_secret_ref leads to a secret that is cut or mistyped") from None
    return base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def json_report(posted: Posted) -> dict[str, Any]:
    """A report's body.

    Raises:
        BadReceiptError: if it is no JSON object.
    """
    try:
        said = json.loads(posted.body)
    except (ValueError, RecursionError):
        raise BadReceiptError("its body is no JSON") from None
    if not isinstance(said, dict):
        raise BadReceiptError("its body is no JSON object")
    return said


def header_in(listed: Any, name: str) -> str:
    """A mail's header field, where a report repeats them as objects with `name` and `value`."""
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict) and str(one.get("name", "")).lower() == name.lower():
            return str(one.get("value", ""))
    return ""


def reported_at(written: Any) -> datetime | None:
    """When something happened, in the provider's words; None where they cannot be read."""
    try:
        if isinstance(written, int | float) and not isinstance(written, bool):
            return datetime.fromtimestamp(written, UTC)
        return moment(written) if isinstance(written, str) else None
    except (ValueError, OverflowError, OSError):
        return None
