"""Where a mark is kept: the host and the folder, told apart from copies of either.

A copied machine has a copy of its marks, and a folder put back from a backup has an old one. Both
would be satisfied by the old database that came with them. So a mark that is found elsewhere than
where it was written proves nothing.
"""

import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from socket import gethostname
from typing import Any, Self

from django.conf import settings

MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))  # machine-id(5)
MULTICAST, LOCAL = 1 << 40, 1 << 41  # bits of an address that is made up, or given by software


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """`host`: as COUNTERFOIL_HOST says, or what the system is known by. `folder`: its inode."""

    host: str
    folder: int

    @classmethod
    def read(cls, said: Any) -> Self | None:
        """What `written` gave, or None where it is none."""
        try:
            return cls(str(said["host"]), int(said["folder"]))
        except (TypeError, KeyError, ValueError):
            return None

    def written(self) -> dict[str, Any]:
        return asdict(self)

    def moved_from(self, other: Self) -> str:
        """What is different here from where a mark was written, in words; or nothing."""
        if self.host != other.host:
            return f"it was written on the host {other.host}, and this is {self.host}"
        if self.folder != other.folder:
            return "its folder is a copy: the one that it was written in was another"
        return ""


def here(folder: Path) -> Whereabouts:
    """This host, and this folder (made if need be).

    Raises:
        OSError: the folder cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Whereabouts(_host(), folder.stat().st_ino)


def _host() -> str:
    """What tells this host from a copy of it, as far as it can be told without being said.

    A copied machine often has the same machine-id under another name. Where there is no machine-id
    the name is not asked: desktops change theirs with the network they are in.
    """
    if settings.COUNTERFOIL_HOST:
        return str(settings.COUNTERFOIL_HOST)
    for path in MACHINE_IDS:
        with suppress(OSError, UnicodeDecodeError):
            if machine := path.read_text(encoding="ascii").strip():
                return f"{gethostname()} ({machine})"
    address = uuid.getnode()
    return gethostname() if address & (MULTICAST | LOCAL) else f"{address:012x}"
