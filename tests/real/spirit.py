"""django-spirit on loopback: a forum with pages and forms, and no interface for programs."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real.processes import free_port, program, running, wait_for_answer

PASSWORD = "a-password-of-the-lab"
USERS = 80  # each test takes one or two, and a topic of theirs
PER_PAGE = 20

_SETTINGS = """from .dev import *
DEBUG = False
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CACHES["st_rate_limit"] = {
    "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
    "LOCATION": os.path.join(BASE_DIR, "limits"),
    "TIMEOUT": None,
}
"""
_SEED = f"""
from django.core.management import call_command
call_command("migrate", verbosity=0)
call_command("createcachetable", verbosity=0)

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from spirit.category.models import Category
from spirit.topic.models import Topic

category, password = Category.objects.create(title="lab"), make_password("{PASSWORD}")
for number in range({USERS}):
    user = get_user_model().objects.create(
        username=f"user{{number}}", email=f"user{{number}}@lab.test", password=password
    )
    user.st.is_verified = True
    user.st.save()
    Topic.objects.create(user=user, category=category, title=f"Topic {{number}}")
"""


@dataclass(slots=True)
class Spirit:
    """The server, and the database that it keeps everything in."""

    folder: Path
    port: int
    _taken: int = -1

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def take_user(self) -> tuple[str, int]:
        """A user of whom nobody has made use yet, and a topic of theirs."""
        self._taken += 1
        find = "SELECT id FROM spirit_topic_topic WHERE title = ?"
        return f"user{self._taken}", int(self.ask(find, f"Topic {self._taken}")[0][0])

    def forget_limits(self) -> None:
        """Let the time pass in which it takes no more comments or sign-ins."""
        shutil.rmtree(self.folder / "limits", ignore_errors=True)

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Look into its database, or change what only a moderator could."""
        with closing(sqlite3.connect(self.folder / "db.sqlite3", timeout=30)) as database, database:
            return database.execute(sql, values).fetchall()

    def write_comments(self, user: str, topic: int, count: int, said: str = "chatter") -> None:
        """Comments of a user, as many at once as would take them a while."""
        (user_id,) = self.ask("SELECT id FROM auth_user WHERE username = ?", user)[0]
        for _ in range(count):
            self.ask(
                "INSERT INTO spirit_comment_comment (user_id, topic_id, comment, comment_html,"
                " action, date, is_removed, is_modified, modified_count, likes_count)"
                " VALUES (?, ?, ?, ?, 0, strftime('%Y-%m-%d %H:%M:%f', 'now'), 0, 0, 0, 0)",
                user_id, topic, said, f"<p>{said}</p>",
            )  # fmt: skip


@contextmanager
def spirit(folder: Path) -> Iterator[Spirit]:
    """A forum with users and topics, running until left."""
    server = Spirit(folder / "lab", free_port())
    binaries = program("spirit").parent
    path = f"{binaries}:{os.environ['PATH']}"
    _run("spirit", "startproject", "lab", folder=folder, path=path)
    (server.folder / "lab" / "settings" / "lab.py").write_text(_SETTINGS)
    seed = ("shell", "-v", "0", "-c", _SEED)
    _run("python", "manage.py", *seed, folder=server.folder, path=path)
    output = folder / "spirit.out"
    address = f"127.0.0.1:{server.port}"
    with running(
        output,
        binaries / "python", "manage.py", "runserver", address, "--noreload",
        folder=server.folder,
        variables={"DJANGO_SETTINGS_MODULE": "lab.settings.lab"},
    ):  # fmt: skip
        wait_for_answer(f"{server.url}/user/login/", output)
        yield server


def _run(*command: str, folder: Path, path: str) -> None:
    """One of its own commands; where it fails, what it said."""
    variables = {**os.environ, "PATH": path, "DJANGO_SETTINGS_MODULE": "lab.settings.lab"}
    done = subprocess.run(
        [str(Path(path.partition(":")[0]) / command[0]), *command[1:]],
        cwd=folder, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
