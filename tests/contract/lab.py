"""A vendor's fake that runs, its adapter, and one message."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from delivery.channels.api import ApiAdapter
from delivery.channels.contract import Envelope, Finding, Query
from delivery.outcomes import (
    Outcome,
)
from delivery.timing import boottime
from ledgers.identity import idempotency_key
from tests.channels.notebook import Notebook
from tests.contract.ways import WAYS

TOKEN = "dlvq2mx9kabcdefghijkl23"
TEXT = "Done & <b>well</b>: see https://example.com/a_b “now”\n\n*really*  "


SEARCHABLE = ["slack", "discord", "github", "discourse", "twilio"]
KEYED = ["discord", "resend", "pagerduty"]


class Lab:
    """A vendor that runs, and its adapter."""

    def __init__(self, name: str) -> None:
        self.way = WAYS[name]
        self.vendor = self.way.vendor()
        self.began = datetime.now(UTC)

    def adapter(self, **settings: Any) -> ApiAdapter:
        given = {"base_url": self.vendor.url, "allow_private": True, **self.way.settings}
        return self.way.adapter({**given, **settings}, lambda: self.way.secret)

    @property
    def key(self) -> str:
        form = self.adapter().declare().key
        identity = uuid.UUID("00000000-0000-4000-8000-000000000001")
        return idempotency_key(
            identity, form.form if form else "uuid", form.max_length if form else 255
        )

    def send(
        self, content: Any = TEXT, marker: str = "", recognizer: str = TOKEN, **settings: Any
    ) -> Outcome:
        adapter = self.adapter(**settings)
        envelope = Envelope(content, self.way.to, 1, 1, recognizer, marker, self.key)
        return adapter.submit(adapter.render(envelope), self.key, Notebook())

    def look(self, **settings: Any) -> Finding:
        since = self.began - timedelta(minutes=5)
        query = Query("id", self.key, TOKEN, self.way.to, "", since)
        (finding,) = self.adapter(**settings).look_up(query, boottime() + 20)
        return finding


def each(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("lab", names or list(WAYS), indirect=True)


def complete(lab: Lab) -> dict[str, Any]:
    return {} if lab.way.adapter.slug == "twilio" else {"surface_complete": True}


# --- Credentials -------------------------------------------------------------------------------
