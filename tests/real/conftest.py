"""Real servers on loopback, one of each for all tests of a process; a skip says what is missing."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real import mail_servers as mail
from tests.real import moto as ses
from tests.real import roundup, spirit
from tests.real import synapse as matrix
from tests.real.mail_servers import MailServers
from tests.real.processes import HOW, INSTALLED

# A second opinion, in a language that not every machine has; install-servers says so as well.
collect_ignore = [] if (INSTALLED / "ses-v2-local").exists() else ["test_ses_local.py"]


@pytest.fixture(scope="session")
def mail_lab() -> Iterator[MailServers]:
    """Postfix and Dovecot."""
    if missing := mail.missing():
        pytest.skip(f"{missing}: {HOW}")
    if os.geteuid() != 0:
        pytest.skip("Postfix and Dovecot start only as root")
    # Not pytest's folder, which others may not enter: the servers run as users of their own.
    with (
        tempfile.TemporaryDirectory(prefix="counterfoil-mail-") as folder,
        mail.mail_servers(Path(folder)) as servers,
    ):
        yield servers


@pytest.fixture(scope="session")
def homeserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[matrix.Synapse]:
    """Synapse."""
    with matrix.synapse(tmp_path_factory.mktemp("synapse")) as server:
        yield server


@pytest.fixture(scope="session")
def mail_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ses.Moto]:
    """moto."""
    with ses.moto(tmp_path_factory.mktemp("moto")) as server:
        yield server


@pytest.fixture(scope="session")
def forum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[spirit.Spirit]:
    """django-spirit."""
    with spirit.spirit(tmp_path_factory.mktemp("spirit")) as server:
        yield server


@pytest.fixture(scope="session")
def tracker() -> Iterator[roundup.Roundup]:
    """Roundup."""
    # Not pytest's folder, which others may not enter: it does not run as root.
    with (
        tempfile.TemporaryDirectory(prefix="counterfoil-roundup-") as folder,
        roundup.roundup(Path(folder)) as server,
    ):
        yield server
