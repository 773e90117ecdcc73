"""Secrets by reference: `env:NAME` or `file:/path`. Never stored, never logged, never shown.

What is kept instead is a fingerprint, so that an attempt can say which secret it used and a
replaced one is noticed.
"""

import hashlib
import logging
import os
import stat
from pathlib import Path

from delivery.errors import SecretError

__all__ = ["SecretError", "fingerprint", "read_secret"]

MAX_BYTES = 65_536
FORMS = "env:NAME (an environment variable) or file:/absolute/path"

logger = logging.getLogger(__name__)


def read_secret(ref: str) -> str:
    """The secret behind a reference, without the line end that editors add; "" for an empty one.

    Raises:
        SecretError: if the reference is of no known form or leads nowhere. It names the
            reference, never the secret.
    """
    if not ref:
        return ""
    form, _, name = ref.partition(":")
    if form == "env" and name:
        return _from_environment(name)
    if form == "file" and name.startswith("/"):
        return _from_file(Path(name))
    # Not quoted in full: somebody may have typed the secret itself where a reference belongs.
    raise SecretError(f"the reference beginning {ref[:4]!r} is of no known form; write {FORMS}")


def _from_environment(name: str) -> str:
    secret = os.environ.get(name, "").strip("\r\n")
    if not secret:
        raise SecretError(f"the environment variable {name} is not set, or empty")
    return secret


def _from_file(path: Path) -> str:
    try:
        # Opening a pipe would wait for its writer, and with it the worker, for every channel.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise SecretError(f"{path} is no regular file")
            raw = os.read(descriptor, MAX_BYTES + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SecretError(f"the file {path} cannot be read: {error.strerror}") from None
    if len(raw) > MAX_BYTES:
        raise SecretError(f"the file {path} is longer than {MAX_BYTES} bytes: is it the right one?")
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        logger.warning("secret file %s can be reached by others; chmod 600 it", path)
    return _decoded(path, raw)


def _decoded(path: Path, raw: bytes) -> str:
    try:
        secret = raw.decode().strip("\r\n")
    except UnicodeDecodeError:
        # From None: the error's own text quotes bytes of the secret.
        raise SecretError(f"the file {path} is not UTF-8 text") from None
    if not secret:
        raise SecretError(f"the file {path} is empty")
    return secret


def fingerprint(secret: str) -> str:
    """12 hex digits that tell one secret from another, and nothing else about it.

    Hashed with a fixed prefix, so that it equals no hash of the same secret made elsewhere. Only
    for secrets nobody can guess: a short password could be found by trying.
    """
    return hashlib.sha256(b"counterfoil fingerprint\x00" + secret.encode()).hexdigest()[:12]
