"""The README's first steps on a fresh clone, in the order in which a newcomer may take them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.embedded import launcher
from config.embedded.cluster import Cluster
from tests.embedded.processes import PROJECT, ended, python

QUICK = {"COUNTERFOIL_FSYNC": "off"}
LAST_BUT_ONE = sorted(path.stem for path in (PROJECT / "ledgers/migrations").glob("0*.py"))[-2]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A data folder in which nothing has happened yet."""
    made = tmp_path / "data"
    yield made
    launcher.stop(Cluster(made, fsync=False))


def my_agent(folder: Path) -> str:
    """The lines of the README, saved in a folder of their own."""
    found = re.search(r"```python\n(.*?)```", (PROJECT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    path = folder.parent / "my_agent.py"
    path.write_text(found[1].replace("wait(10)", "wait(0)"))
    return str(path)


def test_the_lines_say_what_to_do_first_and_then_work(folder: Path) -> None:
    path = my_agent(folder)
    environment = {**QUICK, "PYTHONPATH": str(PROJECT)}

    _, refused = python(folder, path, env=environment).communicate()
    shell = python(folder, "manage.py", "list_unknown", env=QUICK)
    _, refused_at_shell = shell.communicate()
    ended(python(folder, "manage.py", "migrate", env=QUICK))
    first = ended(python(folder, path, env=environment))
    ended(python(folder, "manage.py", "deliver", "--once", env=QUICK))
    second = ended(python(folder, path, env=environment))

    told = "The database is not migrated. Run: make run, or .venv/bin/python manage.py migrate"
    assert refused.splitlines()[-1] == f"ledgers.errors.NotMigratedError: {told}"
    assert (shell.returncode, told in refused_at_shell) == (2, True)
    assert "2 pending" in first
    assert "2 delivered" in second
    assert len((folder / "notes.jsonl").read_text().splitlines()) == 2


def test_a_database_one_migration_behind_is_told_before_anything_is_written(folder: Path) -> None:
    count = (
        "import django; django.setup(); from ledgers.models import Run, Event;"
        " print(Run.objects.count(), Event.objects.count())"
    )
    path = my_agent(folder)
    environment = {**QUICK, "PYTHONPATH": str(PROJECT)}
    ended(python(folder, "manage.py", "migrate", env=QUICK))
    ended(python(folder, "manage.py", "migrate", "ledgers", LAST_BUT_ONE, env=QUICK))

    agent = python(folder, path, env=environment)
    _, refused = agent.communicate()
    written = ended(python(folder, "-c", count, env=QUICK))
    ended(python(folder, "manage.py", "migrate", env=QUICK))
    later = ended(python(folder, path, env=environment))

    assert (agent.returncode, refused.splitlines()[-1][:39]) == (
        1,
        "ledgers.errors.NotMigratedError: The da",
    )
    assert written == "0 0\n"
    assert "2 pending" in later


def test_a_first_channel_that_was_taken_away_does_not_come_back(folder: Path) -> None:
    look = (
        "import django; django.setup(); from ledgers.models import Channel;"
        " print(list(Channel.objects.values_list('slug', flat=True)))"
    )
    remove = (
        "import django; django.setup(); from ledgers.models import Channel;"
        " Channel.objects.all().delete()"
    )
    ended(python(folder, "manage.py", "migrate", env=QUICK))

    first = ended(python(folder, "-c", look, env=QUICK))
    ended(python(folder, "-c", remove, env=QUICK))
    ended(python(folder, "manage.py", "migrate", env=QUICK))
    later = ended(python(folder, "-c", look, env=QUICK))

    assert (first, later) == ("['notes']\n", "[]\n")
