"""Every command teaches: what it does, its exit codes, and an example that can be pasted."""

import pytest

from tests.commands.shell import load, typed

COMMANDS = (
    "backup", "cancel", "decide", "deliver", "demo", "draw_states", "drill", "erase", "hold",
    "list_unknown", "pause", "prove", "purge", "recheck_decisions", "reconcile", "record",
    "release", "resolve_run", "restore", "restore_drill", "resume", "show_delivery", "show_run",
    "up", "verify_ledgers", "watch", "workers",
)  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_exit_codes_and_shows_an_example(name: str) -> None:
    told = typed(name, "--help")

    assert told.code == 0
    assert "Exit codes: 0 " in told.out
    assert f"manage.py {name}" in told.out.partition("Example")[2]
    assert "--json" in told.out


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_is_not_known_is_a_misuse(name: str) -> None:
    assert typed(name, "--nonsense").code == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_terminal_of_a_hundred_columns(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")

    text = load(name).create_parser("manage.py", name).format_help()

    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("words", [["--limit", "0"], ["--limit", "-1"], ["--limit", "x"]])
def test_a_number_that_is_none_is_a_misuse_that_says_what_is_right(words: list[str]) -> None:
    refused = typed("list_unknown", *words)

    assert refused.code == 2
    assert "whole number from 1" in refused.err or "expected one argument" in refused.err
