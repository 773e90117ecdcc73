"""The secret key of a local installation: made once, kept in a file that only its owner reads."""

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def kept_in(folder: Path, *, allowed: bool) -> str:
    """The key kept in `folder`, made on first use.

    Raises:
        ImproperlyConfigured: not `allowed`; in production the key must be given, since several
            machines must share it and a lost one invalidates every session.
    """
    if not allowed:
        raise ImproperlyConfigured(
            "SECRET_KEY is not set. Set it in the environment or in .env to a long random text: "
            "python -c 'import secrets; print(secrets.token_urlsafe(50))'"
        )
    path = folder / "secret.key"
    try:
        return _read(path)
    except FileNotFoundError:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_once(path, secrets.token_urlsafe(50))
        return _read(path)


def _read(path: Path) -> str:
    return path.read_text(encoding="ascii")


def _write_once(path: Path, key: str) -> None:
    """Linked into place when whole: of two first starts, one wins and both read the same key."""
    scratch = path.with_name(f"{path.name}.{os.getpid()}")
    scratch.touch(mode=0o600)
    scratch.write_text(key, encoding="ascii")
    try:
        path.hardlink_to(scratch)
    except FileExistsError:
        pass
    finally:
        scratch.unlink()
