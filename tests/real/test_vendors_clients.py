"""Our requests held against those of the vendors' own clients, and our fakes against both.

It shows that fields, paths and credentials have the names that the published client of the vendor
uses, and that this client makes sense of what our fake answers. It does not show what the service
itself does: nobody here has called one.
"""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest

from delivery.channels.contract import Posted
from delivery.outcomes import Accepted
from tests.channels.notebook import Notebook
from tests.contract.lab import SEARCHABLE, TOKEN, Lab
from tests.contract.vendor import Ask, Entry
from tests.contract.vendors import Twilio
from tests.contract.ways import WAYS
from tests.real.processes import program

CLIENTS = Path(__file__).with_name("vendors_clients.py")
CALLBACK = f"https://console.acme.test/receipts/alerts/?ref={TOKEN}"
SAID = f"hello\nref {TOKEN}"
# What a client adds of its own accord, or what only ours says; each is in the vendor's documents.
ADDED = {"discord": {"tts"}}
SETTINGS = {
    "github": {"recognizer_place": "visible"},
    "twilio": {"status_callback": "https://console.acme.test/receipts/alerts/"},
}
CREDENTIALS = ("authorization", "api-key", "api-username", "idempotency-key")


@dataclass(frozen=True, slots=True)
class Met:
    """What a vendor's own client asked of our fake, and what it made of the answers."""

    said: dict[str, Any]
    submission: Ask
    reads: tuple[Ask, ...]
    entries: tuple[Entry, ...]


@cache
def met(name: str) -> Met:
    """Let the vendor's own client post the message, list what there is, and say who it is."""
    lab = Lab(name)
    with lab.vendor as vendor:
        wanted = {
            "vendor": name, "url": vendor.url, "secret": lab.way.secret, "to": lab.way.to,
            "text": SAID, "ref": TOKEN, "key": lab.key, "from": Twilio.me,
            "account": Twilio.account, "callback": CALLBACK,
        }  # fmt: skip
        done = subprocess.run(
            [program("clients"), CLIENTS],
            input=json.dumps(wanted), capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        reads = (ask for ask in vendor.asks if not vendor.submission(ask))
        (submission,) = vendor.submissions
        return Met(json.loads(done.stdout), submission, tuple(reads), tuple(vendor.entries))


@pytest.fixture(params=WAYS)
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A fake of our own, in which nothing was posted yet."""
    made = Lab(request.param)
    with made.vendor:
        yield made


def fields(ask: Ask) -> dict[str, Any]:
    """What a submission says, as names with the kinds of their values."""
    return {name: _kind(value) for name, value in ask.said.items()}


def _kind(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _kind(inner) for name, inner in value.items()}
    return type(value).__name__


def test_ours_says_the_same_as_the_vendors_own_client(lab: Lab) -> None:
    name = lab.adapter().slug
    theirs = met(name).submission

    outcome = lab.send("hello", **SETTINGS.get(name, {}))

    (ours,) = lab.vendor.submissions
    assert isinstance(outcome, Accepted)
    assert outcome.provider_message_id == met(name).said["id"] or name == "slack"  # a moment there
    assert (ours.method, _path(ours)) == (theirs.method, _path(theirs))
    added = ADDED.get(name, set())
    if _is_form(theirs) and not _is_form(ours):  # a form's values are all texts
        assert set(fields(ours)) | added == set(fields(theirs))
    else:
        assert fields(ours) | dict.fromkeys(added, "bool") == fields(theirs)
    for field in CREDENTIALS:
        assert _credential(ours, field) == _credential(theirs, field)


def _path(ask: Ask) -> str:
    return ask.path.removesuffix(".json")  # Discourse takes either


def _is_form(ask: Ask) -> bool:
    return "form" in ask.headers["content-type"]


def _credential(ask: Ask, name: str) -> str | None:
    # GitHub takes both words, and its documents have changed from the one to the other.
    said = ask.headers.get(name)
    return said.replace("token ", "Bearer ") if said else None


@pytest.mark.parametrize("lab", SEARCHABLE, indirect=True)
def test_what_the_vendors_own_client_posted_ours_finds_under_the_same_id(lab: Lab) -> None:
    theirs = met(lab.adapter().slug)
    lab.vendor.entries.extend(theirs.entries)

    finding = lab.look()

    assert (finding.verdict, finding.provider_message_id) == ("found", theirs.said["id"])
    if theirs.said["texts"]:
        assert any(TOKEN in text for text in theirs.said["texts"])
        known = {ask.path: set(ask.query) for ask in theirs.reads}
        for ask in lab.vendor.asks:
            assert set(ask.query) - {"page"} <= known[ask.path]


@pytest.mark.parametrize(
    "lab", [name for name in WAYS if name not in {"resend", "pagerduty"}], indirect=True
)
def test_both_learn_the_same_about_who_they_are(lab: Lab) -> None:
    who = lab.adapter().introspect(Notebook(20).deadline)

    assert who.identity == met(lab.adapter().slug).said["who"]


@pytest.mark.parametrize("lab", ["twilio"], indirect=True)
def test_a_callback_that_twilios_own_library_signs_is_believed(lab: Lab) -> None:
    called = met("twilio").said["callback"]
    body = urlencode(called["form"]).encode()
    headers = {"x-twilio-signature": called["signature"]}

    (report,) = lab.adapter().classify_receipt(Posted(CALLBACK, headers, body, datetime.now(UTC)))

    assert dict(parse_qsl(body.decode()))["MessageSid"] == report.provider_message_id
    assert (report.kind, report.recognizer) == ("delivered", TOKEN)
