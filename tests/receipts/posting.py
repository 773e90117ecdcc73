"""Reports as their providers sign and post them."""

import base64
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import urlencode

from django.test import Client
from standardwebhooks.webhooks import Webhook

from ledgers.clock import database_now

SIGNING = "whsec_" + base64.b64encode(b"a signing secret of the lab").decode()
ADDRESS = "https://console.acme.test/receipts/alerts/"


def resend_report(
    kind: str,
    email_id: str,
    *,
    named: str = "msg_1",
    ref: str = "",
    age_s: float = 0.0,
    at: object = "2026-12-01T09:00:00Z",
) -> dict[str, Any]:
    """What the client posts for one of Resend's webhooks; keyword arguments of `Client.post`."""
    data: dict[str, Any] = {"email_id": email_id}
    if ref:
        data["headers"] = [{"name": "X-Counterfoil-Ref", "value": ref}]
    said = {"type": f"email.{kind}", "created_at": at, "data": data}
    body = json.dumps(said)
    signed_at = database_now().timestamp() - age_s
    moment = database_now().fromtimestamp(int(signed_at), tz=database_now().tzinfo)
    signature = Webhook(SIGNING).sign(named, moment, body)
    return {
        "data": body,
        "content_type": "application/json",
        "headers": {
            "svix-id": named,
            "svix-timestamp": str(int(signed_at)),
            "svix-signature": signature,
        },
    }


def twilio_report(secret: str, sid: str, status: str, url: str = ADDRESS) -> dict[str, Any]:
    form = {"MessageSid": sid, "MessageStatus": status, "AccountSid": "AC0"}
    signed = url + "".join(name + form[name] for name in sorted(form))
    digest = hmac.digest(secret.encode(), signed.encode(), hashlib.sha1)
    return {
        "data": urlencode(form),
        "content_type": "application/x-www-form-urlencoded",
        "headers": {"X-Twilio-Signature": base64.b64encode(digest).decode()},
    }


def post(report: dict[str, Any], path: str = "/receipts/alerts/") -> int:
    """Post it as a stranger does, and give the status of the answer."""
    return Client(enforce_csrf_checks=True).post(path, **report).status_code
