"""`mlc_llm chat --lora` and `/lora`, over the fake model."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mlc_llm.cli.chat_adapters import ChatAdapters, named
from mlc_llm.errors import InvalidRequestError

FAKE = Path(__file__).parents[2] / "fixtures" / "fake-model"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def write_adapter(path: Path, value: float) -> Path:
    """For the fake model, whose one layer has 16 inputs and outputs."""
    import numpy as np
    from safetensors.numpy import save_file

    values = np.full((1, 1, 8, 16), value, np.float32)
    about = {"format": "mlc-adapter", "version": "1", "rank": "8"}
    save_file({"fake.a": values, "fake.b": values}, path, metadata=about)
    return path


@pytest.fixture
def adapters(tmp_path: Path) -> dict[str, Path]:
    return {
        name: write_adapter(tmp_path / f"{name}.mlc-adapter", value)
        for name, value in (("one", 1.0), ("two", 2.0))
    }


def test_names_paths_and_scales(tmp_path: Path) -> None:
    folder = tmp_path / "style.v2"
    folder.mkdir()
    assert named(str(folder)) == ("style.v2", str(folder), 1.0)
    assert named("a/json.gguf:0.5") == ("json", "a/json.gguf", 0.5)
    assert named("x=C:/a:-2") == ("x", "C:/a", -2.0)
    assert named("runs/lr=1e-4/style") == ("style", "runs/lr=1e-4/style", 1.0)
    for wrong in ("=a", "x=", "x=:2", "a:inf"):
        with pytest.raises(InvalidRequestError) as caught:
            named(wrong)
        assert caught.value.param == "lora", wrong


def test_a_chat_uses_its_adapters_until_lora_chooses_others(
    mlc_llm: Run, adapters: dict[str, Path]
) -> None:
    chosen = ("--device", "fake", "--set", "temperature=0;max_tokens=8", "--lines")
    given = [f"--lora={adapters['one']}", f"--lora=b={adapters['two']}:0.5"]
    turns = ("/lora", "/lora none", "/lora one", "/lora b:0.5 one", "/lora one:0.25")
    lines = [line for turn in turns for line in (turn, "ba be", "/reset")]
    result = mlc_llm("chat", str(FAKE), *chosen, *given, stdin="\n".join(lines) + "\n")
    turns_said = result.stdout.partition("Adapters: ")[2].split("Adapters: ")
    used, answers = zip(*(turn.split("; loaded: one b\n") for turn in turns_said), strict=True)
    assert used == ("one:1 b:0.5", "none", "one:1", "b:0.5 one:1", "one:0.25"), result
    assert len(set(answers)) == 5
    plain = mlc_llm("chat", str(FAKE), *chosen, stdin="ba be\n/reset\n")
    assert plain.stdout.endswith(answers[1])
    unknown = mlc_llm("chat", str(FAKE), *chosen, *given, stdin="/lora c\n")
    assert unknown.returncode == 1
    assert "no adapter 'c' is loaded (loaded: one, b)" in unknown.stderr


def test_adapters_that_cannot_be_loaded_end_the_chat(
    mlc_llm: Run, adapters: dict[str, Path], tmp_path: Path
) -> None:
    for given, words in (
        ([str(tmp_path / "none.mlc-adapter")], "none.mlc-adapter"),
        ([str(adapters["one"])] * 2, "two adapters have the name 'one'"),
        ([f"a{i}={adapters['one']}" for i in range(9)], "lora_ranks"),
    ):
        options = [f"--lora={text}" for text in given]
        result = mlc_llm("chat", str(FAKE), "--device", "fake", "-p", "ba", *options)
        assert result.returncode == 1 and words in result.stderr, result
        assert "Traceback" not in result.stderr


def test_without_adapters_nothing_is_asked_for() -> None:
    adapters = ChatAdapters()
    assert adapters.field() == {}
    assert adapters.choose("") == "Adapters: none; loaded: none"
    with pytest.raises(InvalidRequestError, match="--lora PATH"):
        adapters.choose("one")
