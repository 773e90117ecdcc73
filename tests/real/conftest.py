"""Real servers on loopback, one of each for all tests of a process; a skip says what is missing."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real import mail_servers as mail
from tests.real.mail_servers import MailServers


@pytest.fixture(scope="session")
def mail_lab() -> Iterator[MailServers]:
    """Postfix and Dovecot."""
    if missing := mail.missing():
        pytest.skip(f"{missing}: not installed; on Debian and Ubuntu: .ci/install-servers")
    if os.geteuid() != 0:
        pytest.skip("Postfix and Dovecot start only as root")
    # Not pytest's folder, which others may not enter: the servers run as users of their own.
    with (
        tempfile.TemporaryDirectory(prefix="counterfoil-mail-") as folder,
        mail.mail_servers(Path(folder)) as servers,
    ):
        yield servers
