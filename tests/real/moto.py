"""moto on loopback: the interface of Amazon SES, kept by others, with signatures verified."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import requests

from tests.real.processes import free_port, program, running, wait_for_answer

REGION, SENDER = "eu-central-1", "agent@lab.test"
_POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "ses:SendEmail", "Resource": "*"}],
}


@dataclass(frozen=True, slots=True)
class Moto:
    """The server, and the keys of a user that may send and nothing else."""

    port: int
    secret: str = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def mails(self) -> list[dict[str, Any]]:
        """What it took, in order."""
        said = requests.get(f"{self.url}/moto-api/data.json", timeout=10).json()
        return list(said.get("ses", {}).get("Message", []))

    def verify_signatures(self, *, verify: bool) -> None:
        """Whether it asks who calls, from now on."""
        free = "0" if verify else "inf"
        requests.post(f"{self.url}/moto-api/reset-auth", data=free, timeout=10).raise_for_status()

    def call(self, service: str, path: str, **said: Any) -> str:
        """An unsigned call; only which service it is for is read."""
        scope = f"Credential=x/20260101/{REGION}/{service}/aws4_request"
        authorization = f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=x"
        answer = requests.post(
            f"{self.url}{path}", headers={"Authorization": authorization}, timeout=10, **said
        )
        answer.raise_for_status()
        return answer.text

    def make_user(self, name: str, *, may_send: bool) -> str:
        """A user; the secret of its credential."""
        self.verify_signatures(verify=False)
        self.call("iam", "/", data={"Action": "CreateUser", "UserName": name})
        if may_send:
            policy = {"PolicyName": "send", "PolicyDocument": json.dumps(_POLICY)}
            self.call("iam", "/", data={"Action": "PutUserPolicy", "UserName": name, **policy})
        made = self.call("iam", "/", data={"Action": "CreateAccessKey", "UserName": name})
        self.verify_signatures(verify=True)
        told = {one.tag.rpartition("}")[2]: one.text or "" for one in ET.fromstring(made).iter()}  # noqa: S314  of our own server
        return f"{told['AccessKeyId']}:{told['SecretAccessKey']}"


@contextmanager
def moto(folder: Path) -> Iterator[Moto]:
    """A server that knows one sender, running until left."""
    output, port = folder / "moto.out", free_port()
    with running(output, program("moto", "moto_server"), "-H", "127.0.0.1", "-p", str(port)):
        server = Moto(port)
        wait_for_answer(f"{server.url}/moto-api/data.json", output)
        server.call("ses", "/v2/email/identities", json={"EmailIdentity": SENDER})
        yield Moto(port, server.make_user("agent", may_send=True))
