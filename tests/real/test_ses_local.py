"""A second Amazon SES, by other people than the first: it keeps each part of a mail by its name."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from delivery.channels.contract import Envelope
from delivery.channels.ses import SesAdapter
from delivery.outcomes import Accepted
from tests.channels.notebook import Notebook
from tests.real.processes import INSTALLED, free_port, running, wait_for_answer

TOKEN = "k7q2mx9kvb3r5t8w00000777"
KEYS = "AKIDEXAMPLEAKIDEXAMP:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
RICH = {"text": "ça va? ✅", "html": "<p>x & y</p>", "subject": "Done “x”"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    output, port = tmp_path_factory.mktemp("ses-v2-local") / "said", free_port()
    command = INSTALLED / "ses-v2-local" / "node_modules" / ".bin" / "aws-ses-v2-local"
    with running(output, command, "--host=127.0.0.1", f"--port={port}"):
        wait_for_answer(f"http://127.0.0.1:{port}/store", output)
        yield f"http://127.0.0.1:{port}"


def send(server: str, content: Any, **settings: Any) -> tuple[Accepted, list[dict[str, Any]]]:
    """The acceptance, and what the server has of it."""
    given = {"base_url": server, "region": "eu-central-1", "sender": "agent@lab.test"}
    adapter = SesAdapter({**given, "allow_private": True, **settings}, lambda: KEYS)
    rendered = adapter.render(Envelope(content, "ops+night@lab.test", 1, 1, TOKEN))
    outcome = adapter.submit(rendered, "", Notebook(10))
    assert isinstance(outcome, Accepted)
    kept = requests.get(f"{server}/store", timeout=10).json()["emails"]
    return outcome, [one for one in kept if one["messageId"] == outcome.provider_message_id]


@pytest.mark.parametrize("content", ["All quiet.\n.\n", RICH], ids=["text", "all parts"])
def test_each_part_of_a_mail_is_where_it_should_be(server: str, content: Any) -> None:
    _, (mail,) = send(server, content)

    said = content if isinstance(content, dict) else {"text": content}
    assert mail["from"] == "agent@lab.test"
    assert mail["destination"] == {"to": ["ops+night@lab.test"], "cc": [], "bcc": []}
    assert mail["subject"] == said.get("subject", "Message")
    assert mail["body"]["text"] == f"{said['text']}\n\nref {TOKEN}"
    assert mail["body"].get("html", "").startswith(said.get("html", ""))
    assert {"name": "X-Counterfoil-Ref", "value": TOKEN} in mail["headers"]


def test_it_deduplicates_nothing_either(server: str) -> None:
    first, second = send(server, "twice")[0], send(server, "twice")[0]

    assert first.provider_message_id != second.provider_message_id
