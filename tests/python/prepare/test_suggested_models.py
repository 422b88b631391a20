"""The table of models to take next: in the command line, in README, and once in a chat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlc_llm.cli import main
from mlc_llm.cli.chat_terminal import suggest_once
from mlc_llm.cli.list import megabytes
from mlc_llm.prepare import suggested_models

README = Path(__file__).parents[3] / "README.md"


def with_memory(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(suggested_models, "available_bytes", lambda: count)


def test_each_fits_the_machine_that_it_is_for() -> None:
    for model in suggested_models.SUGGESTED:
        assert model.memory_bytes < 0.85e9 * model.memory_gb
    assert {model.memory_gb for model in suggested_models.SUGGESTED} == {1, 4, 16}


def test_readme_has_the_same_table() -> None:
    rows = [line for line in README.read_text().splitlines() if "| `mlc_llm chat HF://" in line]
    assert rows == [
        f"| {m.memory_gb} GB | {megabytes(m.parameter_bytes)} | `{m.command}` |"
        for m in suggested_models.SUGGESTED
    ]


def test_the_list_says_what_fits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    with_memory(monkeypatch, 3_000_000_000)
    assert main(["list", "--suggested"]) == 0
    lines = capsys.readouterr().out.splitlines()
    fits = [line.split("mlc_llm")[0].split()[-1] for line in lines[1:-1]]
    assert fits == ["yes", "yes", "yes", "no"] and "3.0 GB are free" in lines[-1]
    assert main(["list", "--suggested", "--json"]) == 0
    assert [row["fits"] for row in json.loads(capsys.readouterr().out)] == [True, True, True, False]


def test_the_memory_is_that_of_this_machine() -> None:
    assert suggested_models.available_bytes() > 1 << 20


@pytest.mark.parametrize("memory, name", [(1e9, "0.6B"), (3e9, "-4B"), (64e9, "-8B")])
def test_the_first_chat_names_the_largest_that_fits(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    memory: float,
    name: str,
) -> None:
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path))
    with_memory(monkeypatch, int(memory))
    suggest_once()
    assert name in capsys.readouterr().out
    (tmp_path / "chat_history").touch()  # the second chat
    suggest_once()
    assert capsys.readouterr().out == ""


def test_nothing_is_named_where_nothing_fits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path))
    with_memory(monkeypatch, 1000)
    suggest_once()
    assert capsys.readouterr().out == ""
