"""A plain script of somebody who never heard of Django, and the lines of the README."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from delivery.samples import ensure_first_channel, notes_file
from ledgers.models import Channel, Step
from tests.delivery.senders import Desk
from tests.factories import deliveries, sweep

pytestmark = pytest.mark.django_db(transaction=True)

SCRIPT = """
from delivery import agent

with agent.run("run-1", agent="script") as run:
    step = run.step("write", input={"day": 1})
    if not step.done:
        step.complete({"text": "hi"}, [
            agent.Message("digest", channel="alerts", to=["tg:1001"], content="hi"),
        ])
    print(step.result, step.sent.standing())
"""


def run_script(text: str, folder: Path) -> str:
    """What the script prints, run somewhere else, with nothing of Django in its environment.

    Only which database it is to use is passed on: the tests' one.
    """
    path = folder / "my_agent.py"
    path.write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(settings.BASE_DIR)}
    environment["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_plain_script_needs_no_django(alerts: Channel, desk: Desk, tmp_path: Path) -> None:
    first = run_script(SCRIPT, tmp_path)
    second = run_script(SCRIPT, tmp_path)
    sweep()
    third = run_script(SCRIPT, tmp_path)

    assert first == second == "{'text': 'hi'} 1 of 1 destination: 1 pending\n"
    assert third == "{'text': 'hi'} 1 of 1 destination: 1 delivered\n"
    assert (Step.objects.get().starts, len(desk.received)) == (1, 1)


def test_importing_the_agent_configures_the_projects_own_settings(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if "DJANGO" not in key}
    code = (
        "from delivery import agent; from django.conf import settings;"
        " print(settings.SETTINGS_MODULE, settings.COUNTERFOIL_MODE)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(settings.BASE_DIR)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "config.settings local\n"), done.stderr


def test_the_lines_of_the_readme_work(tmp_path: Path) -> None:
    readme = (settings.BASE_DIR / "README.md").read_text()
    found = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert found, "the README shows no Python"
    lines = found[1]
    ensure_first_channel()
    notes_file().unlink(missing_ok=True)

    first = run_script(lines.replace("wait(10)", "wait(0)"), tmp_path)
    sweep()
    second = run_script(lines, tmp_path)

    assert len([line for line in lines.splitlines() if line.strip()]) <= 10
    assert "2 pending" in first
    assert "2 delivered" in second
    assert [row.status for row in deliveries("report-2026-12-01")] == ["delivered"] * 2
    assert len(notes_file().read_text().splitlines()) == 2
    assert Step.objects.get().starts == 1
