"""Watches as processes: killed between sending and writing, two at once, and a dead database."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from config.embedded import launcher
from config.embedded.cluster import Cluster
from tests.embedded.processes import PROJECT, kill_server, python, until
from tests.factories import make_channel
from tests.watch.people import OK, Hook, Mailbox
from tests.watch.scenes import beat, leave, pass_s, unknown

with_rows = [pytest.mark.django_db(transaction=True), pytest.mark.unverified_ledgers]


def watch(mailbox: Mailbox, *words: str, **env: str) -> "subprocess.Popen[str]":
    """`manage.py watch` as a program of its own, on this test's database."""
    return subprocess.Popen(
        [sys.executable, "manage.py", "watch", *words],
        cwd=PROJECT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", **_to(mailbox), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _to(mailbox: Mailbox) -> Mapping[str, str]:
    return {
        "EMAIL_URL": mailbox.url,
        "COUNTERFOIL_ALARM_MAIL": "oncall@acme.test",
        "DEFAULT_FROM_EMAIL": "counterfoil@acme.test",
        "COUNTERFOIL_CONSOLE_URL": "https://console.acme.test/",
    }


def ends(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=90)
    return process.returncode, out, err


class TestOnAWorkingDatabase:
    pytestmark = with_rows

    def test_one_that_is_killed_after_the_mail_was_taken_sends_it_again_and_then_never(
        self, mailbox: Mailbox
    ) -> None:
        make_channel()
        beat()
        unknown(310)
        running: list[subprocess.Popen[str]] = []

        def take_and_kill() -> str:
            running[0].send_signal(signal.SIGKILL)
            running[0].wait()
            return OK

        mailbox.answers = [take_and_kill]
        running.append(watch(mailbox, "--push"))
        code, _, _ = ends(running[0])
        assert (code, len(mailbox.mails)) == (-signal.SIGKILL, 1)

        ends(watch(mailbox, "--push"))
        assert len(mailbox.mails) == 1  # the killed one's lease is not over

        pass_s(60)
        beat()
        for _ in range(2):
            ends(watch(mailbox, "--push"))
            pass_s(60)
        assert len(mailbox.mails) == 2
        assert len({mail["Message-ID"] for mail in mailbox.mails}) == 1

    def test_of_two_at_once_one_tells(self, mailbox: Mailbox) -> None:
        make_channel()
        beat()
        unknown(310)
        both = threading.Event()

        def wait_for_the_other() -> str:
            both.wait(30)
            return OK

        mailbox.answers = [wait_for_the_other]
        first, second = watch(mailbox, "--push"), watch(mailbox, "--push")
        until(lambda: first.poll() is not None or second.poll() is not None, "one ends")
        both.set()
        codes = {ends(first)[0], ends(second)[0]}

        assert codes == {1}
        assert len(mailbox.mails) == 1

    def test_for_good_it_tells_what_begins_and_what_ends(self, mailbox: Mailbox) -> None:
        make_channel()
        beat()
        row = unknown(310)
        watching = watch(mailbox, "--push", "--every", "1")
        until(lambda: len(mailbox.mails) == 1, "the alarm arrives")
        leave(row)
        beat()

        def over() -> bool:
            pass_s(60)
            return len(mailbox.mails) == 2

        until(over, "its end is told")
        watching.send_signal(signal.SIGTERM)
        code, out, err = ends(watching)

        assert (code, "Traceback" in err) == (0, False)
        assert mailbox.subjects[1] == "[Counterfoil local] over: unknown deliveries on alerts"
        assert "told 1 alarm" in out

    @pytest.mark.parametrize(("age_s", "code"), [(10, 0), (310, 1), (3_700, 2)])
    def test_its_exit_code_says_how_bad_it_is(
        self, mailbox: Mailbox, age_s: float, code: int
    ) -> None:
        make_channel()
        beat()
        unknown(age_s)

        assert ends(watch(mailbox))[0] == code
        assert mailbox.mails == []  # it was only asked to look


class TestWithoutADatabase:
    def test_it_says_so_pushes_once_and_tells_when_it_is_back(
        self, mailbox: Mailbox, hook: Hook, tmp_path: Path
    ) -> None:
        nowhere = {"DATABASE_URL": "postgres://me:hunter2@127.0.0.1:9/none"}
        env = {**_to(mailbox), "COUNTERFOIL_ALARM_WEBHOOK": hook.url, **nowhere}

        def told() -> tuple[int, str, str]:
            return ends(python(tmp_path, "manage.py", "watch", "--push", env=env))

        code, out, err = told()
        again, _, _ = told()

        assert (code, again) == (2, 2)
        assert "red" in out
        assert "The database does not answer as it should" in out
        assert mailbox.subjects == ["[Counterfoil local] red: the database does not answer"]
        assert len(hook.calls) == 1
        told_people = mailbox.texts[0] + hook.calls[0][1].decode()
        assert "hunter2" not in out + err + told_people

    def test_a_database_that_is_killed_under_a_running_watch_is_told(
        self, mailbox: Mailbox, tmp_path: Path
    ) -> None:
        cluster = Cluster(tmp_path / "theirs", fsync=False)
        launcher.ensure_running(cluster, "counterfoil")
        env = {**_to(mailbox), "DATABASE_URL": _url(cluster)}
        try:
            assert ends(python(tmp_path / "own", "manage.py", "migrate", "-v0", env=env))[0] == 0
            watching = python(
                tmp_path / "own", "manage.py", "watch", "--push", "--every", "1", env=env
            )
            assert watching.stdout is not None
            assert "nothing is wrong" in watching.stdout.readline()
            kill_server(cluster)

            until(lambda: mailbox.mails, "the alarm arrives")
            watching.send_signal(signal.SIGTERM)
            code, _, _ = ends(watching)
        finally:
            launcher.stop(cluster)

        assert code == 0
        assert mailbox.subjects == ["[Counterfoil local] red: the database does not answer"]
        assert re.search(r"since \d{4}-", mailbox.texts[0])


def _url(cluster: Cluster) -> str:
    return f"postgres://counterfoil@/counterfoil?host={cluster.socket_folder}"
