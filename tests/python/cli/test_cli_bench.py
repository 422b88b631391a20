"""Numbers that `mlc_llm bench` refuses before it measures anything."""

from __future__ import annotations

import pytest

from mlc_llm.cli import main
from mlc_llm.compiler.step_times import StepProgram
from mlc_llm.prepare.model_source import ResolvedModel


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("num-requests", "0", "above 0"),
        ("concurrency", "0", "above 0"),
        ("request-rate", "nan", "above 0"),
        ("request-rate", "0", "above 0"),
        ("warmup", "-1", "at least 0"),
        ("spread", "-1", "at least 0"),
        ("spread", "inf", "at least 0"),
        ("temperature", "nan", "at least 0"),
        ("base-url", "http://127.0.0.1:x/v1", "cannot be sent"),
        ("api-key", "clé", "cannot be sent"),
    ],
)
def test_loads_that_cannot_be(
    name: str, value: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "serve", "--base-url", "http://127.0.0.1:9/v1", f"--{name}", value]) == 1
    error = capsys.readouterr().err
    assert f"--{name} " in error and words in error


def test_a_history_that_cannot_be(
    tiny_model: ResolvedModel,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = ["bench", "kernels", str(tiny_model.folder), "--model-lib", str(tiny_model.model_lib)]
    context = tiny_model.config["context_window_size"]
    for history in ("-1", str(context), "99999999"):
        assert main([*command, "--history", history]) == 1
        assert f"--history must be from 0 to {context - 1}" in capsys.readouterr().err

    def no_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(StepProgram, "times", no_memory)
    assert main([*command, "--history", "9"]) == 1
    assert "--history 9: there is too little memory" in capsys.readouterr().err
