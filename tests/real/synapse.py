"""Synapse on loopback: a Matrix homeserver of its own, with no way to any other one."""

import base64
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests

from tests.real.processes import free_port, program, running, wait_for_answer

PASSWORD = "a-password-of-the-lab"
BURST = 40  # messages that one user may send at once
CLIENT = "/_matrix/client/v3"


@dataclass(frozen=True, slots=True)
class Member:
    """A user on one device."""

    url: str
    user: str
    device: str
    token: str

    def call(self, method: str, path: str, said: dict[str, Any] | None = None) -> Any:
        answer = requests.request(
            method,
            f"{self.url}{CLIENT}{path}",
            headers={"Authorization": f"Bearer {self.token}"},
            json=said if method != "GET" else None,
            timeout=30,
        )
        answer.raise_for_status()
        return answer.json()

    def another_device(self) -> "Member":
        """The same user, signed in once more."""
        said = {
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": self.user},
            "password": PASSWORD,
        }
        return _member(self.url, requests.post(f"{self.url}{CLIENT}/login", json=said, timeout=30))

    def make_room(self, guest: "Member") -> str:
        """A room with this one in it."""
        room = str(self.call("POST", "/createRoom", {"preset": "private_chat"})["room_id"])
        self.invite(room, guest)
        return room

    def invite(self, room: str, guest: "Member") -> None:
        """Invite somebody, who joins."""
        self.call("POST", f"/rooms/{quote(room)}/invite", {"user_id": guest.user})
        guest.call("POST", f"/rooms/{quote(room)}/join", {})

    def say(self, room: str, content: dict[str, Any], key: str) -> str:
        path = f"/rooms/{quote(room)}/send/m.room.message/{key}"
        return str(self.call("PUT", path, {"msgtype": "m.text", **content})["event_id"])

    def events(self, room: str) -> list[dict[str, Any]]:
        """All messages in a room, the newest first."""
        said = self.call("GET", f"/rooms/{quote(room)}/messages?dir=b&limit=500")
        return [one for one in said["chunk"] if one["type"] == "m.room.message"]


@dataclass(slots=True)
class Synapse:
    """The server: where it listens, and the folder with all that it keeps."""

    folder: Path
    port: int
    _process: ExitStack = field(default_factory=ExitStack)
    _users: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        output = self.folder / "synapse.out"
        command = ("-m", "synapse.app.homeserver", "-c", "homeserver.yaml")
        server = running(output, program("synapse"), *command, folder=self.folder)
        self._process.enter_context(server)
        wait_for_answer(f"{self.url}/_matrix/client/versions", output)

    def stop(self) -> None:
        self._process.close()

    def register(self) -> Member:
        """A new user; nobody needs to allow it."""
        self._users += 1
        said = {
            "username": f"user{self._users}",
            "password": PASSWORD,
            "auth": {"type": "m.login.dummy"},
        }
        return _member(
            self.url, requests.post(f"{self.url}{CLIENT}/register", json=said, timeout=30)
        )

    def forget_keys(self, event_id: str) -> int:
        """Remove what is known of an event's transaction, as the end of the window does."""
        with closing(sqlite3.connect(self.folder / "homeserver.db")) as database, database:
            removed = database.execute(
                "DELETE FROM event_txn_id_device_id WHERE event_id = ?", [event_id]
            )
            return removed.rowcount


@contextmanager
def synapse(folder: Path) -> Iterator[Synapse]:
    """A server, running until left."""
    server = Synapse(folder, free_port())
    _write_configuration(server)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _member(url: str, answer: requests.Response) -> Member:
    answer.raise_for_status()
    said = answer.json()
    return Member(url, said["user_id"], said["device_id"], said["access_token"])


def _write_configuration(server: Synapse) -> None:
    folder = server.folder
    seed = base64.b64encode(b"counterfoil-lab-a-seed-of-32-byt").decode().rstrip("=")
    (folder / "signing.key").write_text(f"ed25519 a_lab {seed}\n")
    (folder / "log.yaml").write_text(
        """version: 1
handlers: {console: {class: logging.StreamHandler}}
root: {level: WARNING, handlers: [console]}
"""
    )
    (folder / "homeserver.yaml").write_text(
        f"""server_name: lab.test
listeners:
  - port: {server.port}
    type: http
    bind_addresses: ["127.0.0.1"]
    resources: [{{names: [client]}}]
database: {{name: sqlite3, args: {{database: {folder}/homeserver.db}}}}
media_store_path: {folder}/media
signing_key_path: {folder}/signing.key
log_config: {folder}/log.yaml
macaroon_secret_key: a-secret-of-the-lab
form_secret: a-secret-of-the-lab
report_stats: false
trusted_key_servers: []
federation_domain_whitelist: []
enable_registration: true
enable_registration_without_verification: true
bcrypt_rounds: 4
rc_registration: {{per_second: 1000, burst_count: 1000}}
rc_login:
  address: {{per_second: 1000, burst_count: 1000}}
  account: {{per_second: 1000, burst_count: 1000}}
rc_invites: {{per_user: {{per_second: 1000, burst_count: 1000}}}}
rc_joins: {{local: {{per_second: 1000, burst_count: 1000}}}}
rc_message: {{per_second: 0.2, burst_count: {BURST}}}
"""
    )
