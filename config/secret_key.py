"""The secret key of a local installation: made once, kept in a file that only its owner reads."""

import os
import secrets
from pathlib import Path

from config.environment import WrongSettingError


def kept_in(folder: Path, *, allowed: bool) -> str:
    """The key kept in `folder`, made on first use.

    Raises:
        WrongSettingError: the folder cannot be used; or not `allowed`: in production the key must
            be given, since several machines share it and a lost one invalidates every session.
    """
    if not allowed:
        raise WrongSettingError(
            "SECRET_KEY",
            "is not set, and COUNTERFOIL_MODE is production",
            "a long random text in the environment or in .env, as this makes one:"
            " python3 -c 'import secrets; print(secrets.token_urlsafe(50))'",
        )
    path = folder / "secret.key"
    try:
        if not path.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_once(path, secrets.token_urlsafe(50))
        return path.read_text(encoding="ascii")
    except OSError as error:
        raise WrongSettingError(
            "COUNTERFOIL_DATA",
            f"is {str(folder)!r}, where {path.name} cannot be kept: {error.strerror}",
            "a folder that this user may write",
        ) from None


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
