"""Behind a proxy: what it says of a request is heard, and what a stranger adds is not."""

import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django import Settings

from config.visitors import address
from tests.embedded.processes import PROJECT

SHEET = "static/console/console.css"
PRODUCTION = {
    "COUNTERFOIL_MODE": "production",
    "COUNTERFOIL_ALLOWED_HOSTS": "127.0.0.1",
    "SECRET_KEY": "x" * 60,
}


@pytest.fixture(params=["on", "off"])
def behind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The console in production, told that a proxy stands in front or that none does."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        number = listening.fileno()
        env = PRODUCTION | {
            "COUNTERFOIL_BEHIND_PROXY": request.param,
            "COUNTERFOIL_DATA": str(tmp_path),
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        running = subprocess.Popen(
            [sys.executable, "-m", "config.web", str(number)],
            cwd=PROJECT,
            env={**os.environ, **env},
            pass_fds=(number,),
        )
        try:
            yield request.param, f"http://127.0.0.1:{listening.getsockname()[1]}/{SHEET}"
        finally:
            running.terminate()
            running.wait(timeout=20)


def announce(url: str, length: int) -> int:
    """Say that so many bytes will follow, and wait for what the server thinks of that."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    with closing(connection):
        connection.putrequest("POST", urlsplit(url).path)
        connection.putheader("Content-Length", str(length))
        connection.endheaders()
        return connection.getresponse().status


def test_a_page_that_a_proxy_fetched_by_https_is_not_sent_round_in_circles(
    behind: tuple[str, str],
) -> None:
    told, url = behind
    headers = {"X-Forwarded-Proto": "https"}

    # The socket listens already: the first one waits until the console has started.
    answer = requests.get(url, headers=headers, allow_redirects=False, timeout=60)
    plain = requests.get(url, allow_redirects=False, timeout=10)
    long = announce(url, 3_000_000)

    assert long == 413  # by the server itself: the application would have sent it on
    assert answer.status_code == (200 if told == "on" else 301)
    assert plain.status_code == 301


@pytest.mark.parametrize(
    ("forwarded", "seen"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("198.51.100.1, 203.0.113.7", "203.0.113.7"),
        ("2001:db8::7", "2001:db8::7"),
        ("203.0.113.7, not an address", "192.0.2.1"),
        ("", "192.0.2.1"),
    ],
)
def test_an_address_is_what_our_own_proxy_added_last(forwarded: str, seen: str) -> None:
    request = RequestFactory().get(
        "/", headers={"X-Forwarded-For": forwarded}, REMOTE_ADDR="192.0.2.1"
    )

    assert address(request) == seen


@pytest.mark.django_db
def test_behind_a_proxy_wrong_passwords_lock_out_nobody_elsewhere(settings: Settings) -> None:
    """And who makes up an address before the proxy's is locked out all the same."""
    settings.AXES_CLIENT_IP_CALLABLE = "config.visitors.address"
    url, wrong = reverse("admin:login"), {"username": "ann", "password": "wrong"}

    def tries(forwarded: str) -> int:
        return Client().post(url, wrong, headers={"X-Forwarded-For": forwarded}).status_code

    guesses = [tries(f"10.0.0.{n}, 203.0.113.7") for n in range(11)]

    assert guesses[-1] == 429
    assert tries("198.51.100.9") == 200
