"""Settings of the tests: a server, a data folder and a database of their own.

The name of the database is left in the environment, so that processes started by a test find the
same one. Two runs at a time do not meet: the name holds the number of the process that made it.
"""

import os

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")
NAME = os.environ.get("COUNTERFOIL_TEST_DATABASE", "")
if not NAME.endswith(f"_{WORKER}"):  # none yet, or the one of the process that started this worker
    NAME = f"test_counterfoil_{os.getpid()}_{WORKER}"

os.environ.update(
    {
        "COUNTERFOIL_TEST_DATABASE": NAME,
        "COUNTERFOIL_ENV_FILE": os.devnull,
        "COUNTERFOIL_MODE": "local",
        "COUNTERFOIL_DATA": ".data/test",
        "COUNTERFOIL_FSYNC": "off",
        "DATABASE_URL": "",
    }
)

from config.settings import *  # noqa: E402, F403  what is not named below is as in real use
from config.settings import CACHES, COUNTERFOIL_DATA, DATABASES, TEMPLATES  # noqa: E402

DATABASES["default"]["NAME"] = NAME
COUNTERFOIL_FIRST_CHANNEL = False  # each test says which channels there are
COUNTERFOIL_MARK = COUNTERFOIL_DATA / "marks" / NAME
CACHES["default"]["LOCATION"] = COUNTERFOIL_DATA / "cache" / NAME
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
TEMPLATES[0]["OPTIONS"]["debug"] = True  # the coverage plugin reads what this records
