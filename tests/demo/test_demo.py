"""The demo is real: real processes, three kills, and a recipient that counts."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.conf import settings as settings_of_project

from config.demo import sample
from config.demo.account import Account
from config.demo.scene import AGENT, DESTINATIONS
from config.management.commands import demo
from ledgers.models import Attempt, Run
from tests.commands.shell import typed


@pytest.mark.slow
@pytest.mark.usefixtures("database")
@pytest.mark.timeout(300)
def test_three_kills_cost_no_duplicate_and_what_cannot_be_known_stays_unknown(
    settings: LazySettings, tmp_path: Path
) -> None:
    settings.COUNTERFOIL_DATA = tmp_path

    told = typed("demo", "--once")

    assert told.code == 0, told
    assert (
        "sent 12, effects at the recipient 12, killed 3 times, duplicates 0, unknown 1" in told.out
    )
    assert "not among these: the recipient acted on it once" in told.out
    assert told.out.count("KILL -9") == 3
    assert "found by its recognizer, not sent again" in told.out
    assert "sent again, its key was recognised" in told.out
    assert "proven absent, then sent" in told.out
    assert Run.objects.get(agent=AGENT).status == "completed"
    mine = Attempt.objects.filter(delivery__message__step__run__agent=AGENT)
    assert mine.count() == len(DESTINATIONS) + 3
    assert "three days of an installation are played" in told.out
    assert sample.is_sample()


def test_a_second_demo_on_the_same_data_folder_is_refused_while_one_plays(
    settings: LazySettings, tmp_path: Path
) -> None:
    settings.COUNTERFOIL_DATA = tmp_path

    with demo._alone(tmp_path):
        refused = typed("demo", "--once")

    assert refused.code == 2
    assert f"Another demo runs in {os.path.relpath(tmp_path)}, as process {os.getpid()}." in (
        refused.err
    )


def test_the_end_of_a_demo_lets_the_next_one_play(tmp_path: Path) -> None:
    with demo._alone(tmp_path):
        pass

    with demo._alone(tmp_path):
        pass


@pytest.mark.slow
@pytest.mark.usefixtures("database")
@pytest.mark.timeout(300)
def test_ctrl_c_while_the_demo_plays_leaves_no_traceback_and_no_process(tmp_path: Path) -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "DATABASE_URL": ""}
    code = f"""
import signal, django
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test's worker may ignore it
django.setup()
from pathlib import Path
from django.conf import settings
from django.core.management import execute_from_command_line
settings.COUNTERFOIL_DATA = Path({str(tmp_path)!r})
execute_from_command_line(["manage.py", "demo", "--once", "--skip-checks"])
"""
    playing = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=settings_of_project.BASE_DIR,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert playing.stdout is not None
    while "KILL -9" not in (line := playing.stdout.readline()):
        assert line, playing.communicate()[1]

    os.killpg(playing.pid, signal.SIGINT)
    _, err = playing.communicate(timeout=60)

    assert playing.returncode == 130, err
    assert "stopped; the next demo begins anew" in err
    assert "Traceback" not in err
    with pytest.raises(ProcessLookupError):
        os.killpg(playing.pid, 0)


@pytest.mark.parametrize("folder", ["main"])
def test_the_demo_refuses_ledgers_for_real_use(
    settings: LazySettings, tmp_path: Path, folder: str
) -> None:
    settings.COUNTERFOIL_DATA = tmp_path / folder

    refused = typed("demo", "--once")

    assert refused.code == 2
    assert "these ledgers are for real use" in refused.err
    assert not (tmp_path / folder).exists()


def test_an_account_with_anything_missing_is_not_complete() -> None:
    assert not Account(()).complete
