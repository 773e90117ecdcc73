"""An installation for one benchmark: made empty, with default durability, then removed."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def fresh() -> None:
    """Point Django at an empty embedded database, migrate it, and remove it when the process ends.

    Nothing that an interrupted run left owed can then take part in what is measured.
    """
    folder = Path(tempfile.mkdtemp(prefix="counterfoil-benchmark-"))
    folder.chmod(0o755)
    atexit.register(_remove, folder)
    sys.path.insert(0, str(ROOT))
    os.environ |= {
        "COUNTERFOIL_DATA": str(folder / "data"),
        "DATABASE_URL": "",
        "COUNTERFOIL_LOG_LEVEL": "WARNING",
        "COUNTERFOIL_STATEMENT_TIMEOUT_S": "3600",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    import django  # noqa: PLC0415  after the lines above
    from django.core.management import call_command  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)


def _remove(folder: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "config.embedded", "stop", str(folder / "data")],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    shutil.rmtree(folder, ignore_errors=True)
