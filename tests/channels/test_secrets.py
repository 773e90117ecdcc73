"""Secrets are read by reference and appear nowhere else."""

import os
from pathlib import Path

import pytest

from delivery.channels.secrets import MAX_BYTES, fingerprint, read_secret
from delivery.errors import SecretError

SECRET = "correct-horse-battery-staple"


@pytest.mark.parametrize("written", [SECRET, f"{SECRET}\n", f"{SECRET}\r\n"])
def test_a_secret_comes_from_the_environment_without_its_line_end(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", written)

    assert read_secret("env:HOOK") == SECRET


@pytest.mark.parametrize("written", [SECRET, f"{SECRET}\n", f"{SECRET}\r\n"])
def test_a_secret_comes_from_a_file_without_its_line_end(written: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(written.encode())

    assert read_secret(f"file:{file}") == SECRET


def test_white_space_inside_a_secret_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(" two words \n")

    assert read_secret(f"file:{file}") == " two words "


def test_no_reference_is_no_secret() -> None:
    assert read_secret("") == ""


@pytest.mark.parametrize(
    "reference", ["env:", "env:NOT_SET_ANYWHERE", "file:", "file:relative", "file:/nonexistent/x"]
)
def test_a_reference_that_leads_nowhere_says_so(reference: str) -> None:
    with pytest.raises(SecretError):
        read_secret(reference)


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    for place in (pipe, tmp_path, Path("/dev/zero")):
        with pytest.raises(SecretError, match="no regular file"):
            read_secret(f"file:{place}")


def test_an_empty_secret_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret"
    file.write_text("\n")
    monkeypatch.setenv("HOOK", "\n")

    for reference in (f"file:{file}", "env:HOOK"):
        with pytest.raises(SecretError, match="empty"):
            read_secret(reference)


def test_a_secret_typed_in_place_of_a_reference_is_not_repeated() -> None:
    with pytest.raises(SecretError) as caught:
        read_secret(SECRET)

    assert SECRET[4:] not in str(caught.value)
    assert "env:NAME" in str(caught.value)


@pytest.mark.parametrize(
    "content", [SECRET.encode() + b"\xff", SECRET.encode() * MAX_BYTES], ids=["bytes", "huge"]
)
def test_a_file_that_is_no_secret_is_refused_without_quoting_it(
    content: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content)

    with pytest.raises(SecretError) as caught:
        read_secret(f"file:{file}")

    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_file_that_others_can_reach_is_warned_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "secret"
    file.write_text(SECRET)

    file.chmod(0o640)
    read_secret(f"file:{file}")
    warned = caplog.text
    caplog.clear()
    file.chmod(0o600)
    read_secret(f"file:{file}")

    assert "chmod 600" in warned
    assert SECRET not in warned
    assert caplog.text == ""


def test_a_fingerprint_tells_secrets_apart_and_stays_the_same() -> None:
    assert fingerprint(SECRET) == "b9dcd273b95d"
    assert fingerprint(SECRET + "x") != fingerprint(SECRET)
