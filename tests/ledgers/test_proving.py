"""A bundle is checked by a script that has none of our code, and any change of it is found."""

import importlib.util
import io
import json
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.conf import settings

from delivery import lifting, restoring
from ledgers import seals
from ledgers.models import Delivery, Event, Seal
from ledgers.proving import prove
from ledgers.states import MOVES
from ledgers.states import DeliveryStatus as S
from tests.commands.shell import typed
from tests.factories import make_channel, record
from tests.ledgers.rows import begin, row_in

pytestmark = pytest.mark.django_db
CHECKER: Path = settings.BASE_DIR / "docs" / "check_bundle.py"


@pytest.fixture(autouse=True)
def alerts() -> None:
    make_channel()


@pytest.fixture(scope="session")
def checker() -> ModuleType:
    """The script, as a module: it is run by itself in a test of its own."""
    spec = importlib.util.spec_from_file_location("check_bundle", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def bundle() -> str:
    """Of a run with a delivered message; seals of other runs lie before and after it."""
    record(run_id="before")
    seals.seal_all()
    row_in(S.DELIVERED, "R-1")
    seals.seal_all(batch=3)
    text = prove("R-1", "ada")
    record(run_id="after")
    return text


def verdict(checker: ModuleType, tmp_path: Path, text: str | bytes, *words: str) -> int:
    path = tmp_path / "bundle.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return int(checker.main([str(path), *words]))


def test_a_third_party_checks_it_with_python_alone(bundle: str, tmp_path: Path) -> None:
    path = tmp_path / "bundle.json"
    path.write_text(bundle, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-I", "-S", CHECKER, path],
        cwd=tmp_path, env={}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert "run         R-1 of tester: completed\ndeliveries  1 delivered\n" in done.stdout
    newest = Seal.objects.latest("number")
    assert f"anchor      {newest.number}:{bytes(newest.hash).hex()}\n" in done.stdout


def test_any_changed_byte_is_found(
    checker: ModuleType, bundle: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bundle.encode()
    dice = random.Random(6962)
    places = dice.sample(range(len(data)), 400)
    verdicts = {}

    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1 << dice.randrange(7)
        verdicts[place] = verdict(checker, tmp_path, bytes(changed))

    assert verdict(checker, tmp_path, data) == 0
    assert [place for place, code in verdicts.items() if code == 0] == []
    capsys.readouterr()


def test_a_chain_that_was_hashed_anew_is_found_by_the_anchor(
    checker: ModuleType, bundle: str, tmp_path: Path
) -> None:
    value, anchor = json.loads(bundle), str(seals.newest())
    value["seals"]["headers"][-1][0] = "2026-01-01T00:00:00.000000+00:00"
    value["seals"]["newest"] = _newest(checker, value["seals"])
    later = _written(value)

    assert verdict(checker, tmp_path, later) == 0
    assert verdict(checker, tmp_path, later, "--anchor", anchor) == 1
    assert verdict(checker, tmp_path, bundle, "--anchor", anchor) == 0


def _newest(checker: ModuleType, chain: dict[str, Any]) -> str:
    """What who changes a header can work out anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checker, "demand", lambda *_: None)
        found = checker.check_chain(chain)
    return f"{max(found)}:{found[max(found)][2]}"


def _written(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _edit(change: Callable[[dict[str, Any]], object]) -> Callable[[str], str]:
    def edited(text: str) -> str:
        value = json.loads(text)
        change(value)
        return _written(value)

    return edited


def _drop_an_event(value: dict[str, Any]) -> None:
    value["records"] = [one for one in value["records"] if '"begin"' not in one["text"]]


def _rewrite_the_status(value: dict[str, Any]) -> None:
    value["ledgers"] = value["ledgers"].replace('"delivered"', '"failed"')


def _swap_two_records(value: dict[str, Any]) -> None:
    first, second = value["records"][:2]
    first["text"], second["text"] = second["text"], first["text"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_drop_an_event, "a record is missing"),
        (_rewrite_the_status, "the ledgers are not those that were sealed"),
        (_swap_two_records, "is not what seal"),
        (lambda value: value["records"].append(value["records"][0]), "in it twice"),
        (lambda value: value["seals"]["headers"].pop(0), "not a chain to the newest"),
        (lambda value: value["seals"].update(installation="another"), "not a chain to the newest"),
        (lambda value: value.update(note="added"), "unknown parts"),
        (lambda value: value["records"][0].update(note="added"), "unknown parts"),
    ],
)
def test_an_edit_that_is_well_written_is_found_too(
    change: Callable[[dict[str, Any]], object],
    said: str,
    checker: ModuleType,
    bundle: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    anchor = str(seals.newest())

    code = verdict(checker, tmp_path, _edit(change)(bundle), "--anchor", anchor)

    assert code == 1
    assert said in capsys.readouterr().out


def test_the_bundle_has_no_contents_and_is_in_the_trail(bundle: str) -> None:
    made = Event.objects.get(kind="prove")

    assert "hello" not in bundle
    assert (made.actor, made.run.run_id if made.run else "") == ("ada", "R-1")
    assert Delivery.objects.get(message__step__run__run_id="R-1").message.payload_hash in bundle


def test_an_open_run_with_an_attempt_under_way_is_proven_as_it_stands(
    checker: ModuleType, tmp_path: Path
) -> None:
    begin(record(run_id="R-2")[0])

    text = prove("R-2", "ada")

    assert verdict(checker, tmp_path, text) == 0
    assert len(json.loads(json.loads(text)["ledgers"])["open_attempts"]) == 1


def test_a_second_bundle_has_the_event_of_the_first(checker: ModuleType, tmp_path: Path) -> None:
    record(run_id="R-2")
    prove("R-2", "ada")

    assert verdict(checker, tmp_path, prove("R-2", "ada")) == 0


def test_the_command_writes_a_file_and_prints_the_anchor(tmp_path: Path) -> None:
    record(run_id="R-3")
    path = tmp_path / "r3.json"

    said = typed("prove", "R-3", "--out", str(path))

    assert said.code == 0
    assert said.out.splitlines()[-1] == f"anchor {seals.newest()}"
    assert json.loads(path.read_text())["format"] == "counterfoil-bundle/1"


def test_a_run_that_is_not_there_and_a_folder_that_is_not_are_named(tmp_path: Path) -> None:
    record(run_id="R-4")

    nobody = typed("prove", "R-5")
    nowhere = typed("prove", "R-4", "--out", str(tmp_path / "no" / "r4.json"))

    assert (nobody.code, "there is no run 'R-5'" in nobody.err) == (2, True)
    assert (nowhere.code, "cannot be written" in nowhere.err) == (2, True)


def test_it_knows_every_move_of_a_delivery(checker: ModuleType) -> None:
    assert {move.name for move in MOVES} == checker.MOVES


def test_what_a_restore_put_in_doubt_is_proven(checker: ModuleType, tmp_path: Path) -> None:
    record(run_id="R-1")
    lifting.declare_restored("a dump", "ann")
    while restoring.rewind_some("worker-1"):
        pass

    assert Delivery.objects.get().status == "unknown"
    assert verdict(checker, tmp_path, prove("R-1", "ada")) == 0


def test_a_bundle_cannot_write_its_own_verdict(
    bundle: str, checker: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is read on a terminal, by somebody who does not trust who wrote it."""
    forged = json.loads(bundle)
    forged["records"][0] |= {"kind": "\r\x1b[2Kproven\nproven", "seal": 10**6}
    text = json.dumps(forged, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    code = verdict(checker, tmp_path, text)

    said = capsys.readouterr().out
    assert code == 1
    assert said.startswith("NOT PROVEN: ")
    assert said.isascii()
    assert said.count("\n") == 1
    assert "\x1b" not in said


@pytest.mark.parametrize("broken", ["encrypted", "compressed otherwise", "a list"])
def test_what_is_no_bundle_is_named_so(
    checker: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], broken: str
) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("manifest.json", "[]" if broken == "a list" else "{}")
    raw = bytearray(data.getvalue())
    central = raw.index(b"PK\1\2")
    if broken == "encrypted":
        raw[6] |= 1
        raw[central + 8] |= 1
    elif broken != "a list":
        raw[8:10] = raw[central + 10 : central + 12] = b"\x63\0"

    assert verdict(checker, tmp_path, bytes(raw)) == 1
    assert capsys.readouterr().out.startswith("NOT PROVEN: it is not a whole bundle: ")
