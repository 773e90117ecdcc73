"""An installation for one benchmark: made empty, with default durability, then removed."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ledgers.models import Channel

ROOT = Path(__file__).resolve().parent.parent


def fresh(kept: Path | None = None) -> None:
    """Point Django at an empty embedded database, migrate it, and remove it when the process ends.

    Nothing that an interrupted run left owed can then take part in what is measured.

    Args:
        kept: a folder to use instead, as it is; it is only stopped at the end.
    """
    folder = kept or Path(tempfile.mkdtemp(prefix="counterfoil-benchmark-"))
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    atexit.register(_stop if kept else _remove, folder)
    sys.path.insert(0, str(ROOT))
    os.environ |= {
        "COUNTERFOIL_DATA": str(folder.resolve() / "data"),
        "DATABASE_URL": "",
        "COUNTERFOIL_LOG_LEVEL": "WARNING",
        "COUNTERFOIL_STATEMENT_TIMEOUT_S": "3600",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    import django  # noqa: PLC0415  after the lines above
    from django.core.management import call_command  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)


def channel(slug: str, adapter: str, settings: dict[str, Any], **fields: Any) -> Channel:
    """A channel of this name, through which everything may go; the same one each time."""
    from ledgers.models import Channel, Credential  # noqa: PLC0415  they need the installation

    credential, _ = Credential.objects.get_or_create(
        name="benchmark", defaults={"destination_rules": ["*"]}
    )
    made, _ = Channel.objects.get_or_create(
        slug=slug,
        defaults={"adapter": adapter, "credential": credential, "settings": settings, **fields},
    )
    return made


def _stop(folder: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "config.embedded", "stop", str(folder.resolve() / "data")],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        check=False,
    )


def _remove(folder: Path) -> None:
    _stop(folder)
    shutil.rmtree(folder, ignore_errors=True)
