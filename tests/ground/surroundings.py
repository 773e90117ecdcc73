"""Settings of processes on a ground that fails: impatient, so that tests need not be patient."""

import os
import sys
from pathlib import Path

STATEMENT_S, IDLE_TRANSACTION_S = 5, 2


def environment(folder: Path) -> dict[str, str]:
    """Settings that every process of a run shares."""
    return {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "COUNTERFOIL_ENV_FILE": os.devnull,
        "COUNTERFOIL_MODE": "local",
        "COUNTERFOIL_DATA": str(folder / "data"),
        "COUNTERFOIL_STATEMENT_TIMEOUT_S": str(STATEMENT_S),
        "COUNTERFOIL_IDLE_TRANSACTION_TIMEOUT_S": str(IDLE_TRANSACTION_S),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
