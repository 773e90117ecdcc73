"""nginx on loopback, between a sender and the applications behind it."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.channels.peers import CERTIFICATES
from tests.real.processes import HOW, free_port, running, wait_for_connection

TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@dataclass(frozen=True, slots=True)
class Nginx:
    """Where it listens, plain and by TLS."""

    port: int
    tls_port: int


@contextmanager
def nginx(folder: Path, applications: Sequence[int], rules: str = "") -> Iterator[Nginx]:
    """An nginx that passes all on to these ports, until left.

    Args:
        folder: where it keeps everything, an empty one.
        applications: the ports of one application each; the first is asked first.
        rules: more directives of the location.
    """
    if shutil.which("nginx") is None:
        pytest.skip(f"nginx: {HOW}")
    server = Nginx(free_port(), free_port())
    (folder / "nginx.conf").write_text(_configuration(folder, server, applications, rules))
    command = ("nginx", "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error.log")
    with running(folder / "nginx.out", *command):
        wait_for_connection(server.port)
        yield server


def _configuration(folder: Path, server: Nginx, applications: Sequence[int], rules: str) -> str:
    servers = "\n".join(f"server 127.0.0.1:{one} max_fails=0;" for one in applications)
    places = "\n".join(f"{name}_temp_path {folder}/{name};" for name in TEMPORARY)
    return f"""daemon off;
user root;
worker_processes 1;
pid {folder}/nginx.pid;
events {{}}
http {{
    access_log off;
    proxy_read_timeout 1s;
    {places}
    limit_req_zone $binary_remote_addr zone=few:1m rate=1r/m;
    upstream application {{
        {servers}
    }}
    server {{
        listen 127.0.0.1:{server.port};
        listen 127.0.0.1:{server.tls_port} ssl;
        ssl_certificate {CERTIFICATES}/server.pem;
        ssl_certificate_key {CERTIFICATES}/server.pem;
        location / {{
            {rules}
            proxy_pass http://application;
        }}
    }}
}}
"""
