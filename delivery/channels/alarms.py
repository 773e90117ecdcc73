"""How alarms leave: one mail by Django's backend, one call through the transport. Sent directly.

Each answers with "" once the message was accepted, otherwise with why not. Neither raises, so that
one way that fails takes no other with it; neither quotes a password.
"""

import time
from email.utils import parseaddr
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from delivery.channels.answers import redacted
from delivery.channels.http import Call, Failure, exchange
from delivery.channels.looking import SilentJournal
from delivery.channels.webhook import sign
from delivery.timing import boottime

DEADLINE_S = 20.0
PING_DEADLINE_S = 10.0


def post(url: str, secret: str, message_id: str, body: bytes) -> str:
    """Hand a message to the webhook; accepted is any 2xx.

    Args:
        secret: signs the body as Standard Webhooks do; "" leaves the signature out.
        message_id: the same for the same message, also when it is sent again.
    """
    now = int(time.time())
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(now),
    }
    try:
        if secret:
            headers["webhook-signature"] = sign(secret, message_id, now, body)
    except ValueError as error:
        return f"COUNTERFOIL_ALARM_WEBHOOK_SECRET: {error}"
    # The operator named the address, so their own network is allowed; metadata never is.
    call = Call("POST", url, headers, body, allow_private=True, keep=False)
    answer = exchange(call, SilentJournal(boottime() + DEADLINE_S))
    if isinstance(answer, Failure):
        return _told(getattr(answer.outcome, "why", "no answer"), url)
    if 200 <= answer.status_code < 300:
        return ""
    return _told(f"answered {answer.status_code} {answer.reason}", url)


def ping(url: str) -> str:
    """Tell a dead-man's switch that all is well; reached is any 2xx."""
    call = Call("GET", url, {}, b"", allow_private=True, keep=False)
    answer = exchange(call, SilentJournal(boottime() + PING_DEADLINE_S))
    if isinstance(answer, Failure):
        return _told(getattr(answer.outcome, "why", "no answer"), url)
    if 200 <= answer.status_code < 300:
        return ""
    return _told(f"answered {answer.status_code} {answer.reason}", url)


def _told(why: str, url: str) -> str:
    """Without the address: the path of a chat tool's webhook is its secret."""
    parts = urlsplit(url)
    secrets = [url, parts.path.strip("/"), parts.query, parts.password or "", parts.username or ""]
    # A path of a letter or two hides nothing, and would blot out every word.
    return redacted(why, [one for one in secrets if len(one) > 3])[:300]


def mail(to: str, subject: str, text: str, message_id: str) -> str:
    """Hand a mail to the server that the settings name; a time-out bounds each step of it."""
    headers = {"Auto-Submitted": "auto-generated"}
    if message_id:
        domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
        headers["Message-ID"] = f"<{message_id}@{domain}>"
    try:
        with get_connection(timeout=settings.EMAIL_TIMEOUT) as server:
            email = EmailMessage(subject, text, to=[to], headers=headers, connection=server)
            return "" if email.send() else "the mail was not sent"
    except Exception as error:  # noqa: BLE001  whatever a mail server or a name server comes to
        why = f"{type(error).__name__}: {error}"
        return redacted(why, [settings.EMAIL_HOST_PASSWORD])[:300]
