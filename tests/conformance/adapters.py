"""Every adapter, made so that it sends to a peer at some address."""

import os
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from delivery.channels.contract import Adapter, Envelope
from delivery.channels.email import EmailAdapter
from delivery.channels.forum import ForumAdapter
from delivery.channels.forum_sessions import Account, sessions
from delivery.channels.function import FunctionAdapter
from delivery.channels.matrix import MatrixAdapter
from delivery.channels.registry import ADAPTERS
from delivery.channels.roundup import RoundupAdapter
from delivery.channels.secrets import fingerprint
from delivery.channels.ses import SesAdapter
from delivery.channels.simulator import SimulatorAdapter
from delivery.channels.webhook import WebhookAdapter
from delivery.outcomes import Outcome
from tests.channels.notebook import Notebook
from tests.contract.vendor import SECRET as VENDORS_SECRET
from tests.contract.ways import WAYS

SECRET = "whsec_c2hhLCBkbyBub3QgdGVsbA=="
KEYS = "AKIDEXAMPLEAKIDEXAMP:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
KEY = "0f8fad5b-d9cb-469f-a165-70867728950e"
RECOGNIZER = "dlvq2mx9kabcdefghijkl"
TEXT = "two words"

Made = tuple[Adapter, str]
Maker = Callable[[str], Made]


def _webhook(url: str) -> Made:
    settings = {"allow_private": True, "allow_http": True, "secret_as": "bearer"}
    return WebhookAdapter(settings, lambda: SECRET), f"{url}/hook"


def _simulator(url: str) -> Made:
    return SimulatorAdapter({"url": url}, lambda: SECRET), "room:ops"


def _function(url: str) -> Made:
    return FunctionAdapter({"path": "tests.channels.senders.post"}, lambda: ""), f"{url}/hook"


def _email(url: str) -> Made:
    parts = urlsplit(url)
    settings: dict[str, Any] = {
        "host": parts.hostname,
        "port": parts.port,
        "security": "none",
        "sender": "agent@here.test",
        "allow_private": True,
    }
    return EmailAdapter(settings, lambda: ""), "ops@there.test"


def _matrix(url: str) -> Made:
    settings = {"base_url": url, "allow_private": True}
    return MatrixAdapter(settings, lambda: SECRET), "!ops:there.test"


def _ses(url: str) -> Made:
    settings = {"base_url": url, "allow_private": True, "region": "eu-central-1"}
    return SesAdapter({**settings, "sender": "agent@here.test"}, lambda: KEYS), "ops@there.test"


def _forum(url: str) -> Made:
    settings = {"base_url": url, "allow_private": True, "username": "agent"}
    # Signed in already: what is tried here is the submission.
    sessions.put(Account(url, "agent", fingerprint(SECRET)), "a-session", "a-token")
    return ForumAdapter(settings, lambda: SECRET), "12"


class _WithAddress(RoundupAdapter):
    """It has asked for an address already: what is tried here is the submission."""

    def _token(self, destination: str, deadline: float) -> str:
        del destination, deadline
        return "an-address"


def _roundup(url: str) -> Made:
    settings = {"base_url": url, "allow_private": True, "username": "agent"}
    return _WithAddress(settings, lambda: SECRET), "issue"


def _vendor(name: str) -> Maker:
    way = WAYS[name]

    def make(url: str) -> Made:
        settings = {"base_url": url, "allow_private": True, **way.settings}
        return way.adapter(settings, lambda: way.secret), way.to

    return make


MADE: Mapping[str, Maker] = {
    "webhook": _webhook,
    "simulator": _simulator,
    "function": _function,
    "email": _email,
    "matrix": _matrix,
    "ses": _ses,
    "forum": _forum,
    "roundup": _roundup,
    **{name: _vendor(name) for name in WAYS},
}
# A stranger's function raises exceptions that tell nothing: all it can say is "perhaps".
BLIND = frozenset({"function"})
# Those whose answers are read as plain HTTP; the others look into the body as well.
PLAIN = frozenset({"webhook", "simulator", "function"})
SECRETS = (SECRET, VENDORS_SECRET, KEYS.partition(":")[2])

os.environ.setdefault("TEST_SECRET", SECRET)


def submit(name: str, url: str, journal: Notebook) -> Outcome:
    """One call of an adapter to whoever listens at this address."""
    adapter, destination = MADE[name](url)
    content = TEXT if name not in PLAIN else {"text": TEXT}
    envelope = Envelope(content, adapter.normalise(destination), 1, 1, RECOGNIZER, key=KEY)
    return adapter.submit(adapter.render(envelope), KEY, journal)


if set(MADE) != set(ADAPTERS):
    raise LookupError(f"MADE does not say how to make {', '.join(set(ADAPTERS) - set(MADE))}")
