"""What a command makes of a model: found missing before the work, and whole after every kill."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
import tiny_models

from mlc_llm.cli import main
from mlc_llm.prepare.jit_cache import Policies
from mlc_llm.prepare.model_source import resolve_model

Run = Callable[..., "subprocess.CompletedProcess[str]"]
NO_COMPILER = {"PATH": "", "CXX": "", "CC": ""}


def without_progress(text: str) -> list[str]:
    """A busy machine may take over two seconds for a step."""
    return [line for line in text.splitlines() if not line.endswith(" ...")]


def error_of(result: subprocess.CompletedProcess[str]) -> str:
    """The one line on standard error, but for what says that a step takes long."""
    lines = without_progress(result.stderr)
    assert result.returncode == 1 and len(lines) == 1, result.stderr
    return lines[0]


@pytest.mark.skipif(find_spec("ziglang") is not None, reason="a linker from PyPI is here")
def test_a_missing_linker_is_found_before_the_work(
    mlc_llm: Run, tiny_hf_folder: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    machine = {**NO_COMPILER, "MLC_LLM_HOME": str(home), "MLC_DOWNLOAD_CACHE_POLICY": "READONLY"}
    chat = mlc_llm("chat", tiny_hf_folder, "--device", "cpu", "--prompt", "x", **machine)
    assert "install g++ or clang, or run `pip install ziglang`" in error_of(chat)
    output = tmp_path / "out.so"
    compiled = mlc_llm("compile", tiny_hf_folder, "-o", output, **machine)
    assert "pip install ziglang" in error_of(compiled)
    assert not list(home.rglob("*-MLC"))  # nothing was converted
    assert "linker: none: models cannot be compiled here" in mlc_llm("doctor", **machine).stdout


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            ("gen_config", "--context-window-size", "16777217"),
            "must be an integer from 1 to 16777216",
        ),
        (("gen_config", "--context-window-size", "0"), "must be an integer from 1 to 16777216"),
        (("gen_config", "--prefill-chunk-size", "8193"), "must be an integer from 1 to 8192"),
        (("gen_config", "--max-batch-size", "4097"), "must be an integer from 1 to 4096"),
        (("convert_weight", "--tensor-parallel-shards", "0"), "must be from 1 to 64, not 0"),
        (("gen_config", "--tensor-parallel-shards", "0"), "must be from 1 to 64, not 0"),
        (
            ("compile", "--tensor-parallel-shards", "4", "--overrides", "tensor_parallel_shards=2"),
            "is 4, and --overrides says 2",
        ),
    ],
)
def test_a_size_that_cannot_be_is_refused(
    command: tuple[str, ...], words: str, tiny_hf_folder: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    name, *options = command
    assert main([name, str(tiny_hf_folder), "-o", str(tmp_path / "x.so"), *options]) == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", ["chat", "serve", "show", "doctor", "compile", "convert_weight", "gen_config"]
)
def test_stages_of_layers_are_refused_with_what_to_use(
    command: str, tiny_hf_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ["-o", "x"] if command in ("compile", "convert_weight", "gen_config") else []
    stages = ["--pipeline-parallel-stages", "2"]
    assert main([command, str(tiny_hf_folder), *output, *stages]) == 1
    assert "stages of layers; devices share each layer: use" in capsys.readouterr().err


def test_commands_that_prepare_take_the_names_that_doctor_takes(
    mlc_llm: Run, tmp_path: Path
) -> None:
    """`default`, and a GGUF file without --quantization: its own types, nothing beside."""
    output = tmp_path / "default-MLC"
    for command in ("convert-weight", "gen_config"):
        done = mlc_llm(command, "default", "-o", output)
        assert done.returncode == 0 and "Saved to directory" in done.stdout, done.stderr
        assert without_progress(done.stderr) == []
    config = (output / "mlc-chat-config.json").read_text()
    for field in ('"gguf_q4_1"', '"activation_bits": 16', '"temperature": 0.2', '"top_p": 0.9'):
        assert field in config


# --- kill -9 ---

# What is on standard error with -v when a step is under way.
MOMENTS = ("Converting ", "compile: model", "compile: graph", "compile: code", "compile: link")


def pull(folder: Path, home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "mlc_llm", "pull", str(folder), "--device", "cpu", "-v"],
        env={**os.environ, "MLC_LLM_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_until(child: subprocess.Popen[str], words: str) -> str:
    """What the process writes to standard error, up to the line with these words."""
    assert child.stderr is not None
    text = ""
    for line in child.stderr:
        text += line
        if words in line:
            return text
    raise AssertionError(f"no line with {words!r}: {text}")


def kill_at(moment: str, child: subprocess.Popen[str], number: int) -> None:
    assert child.stderr is not None
    for line in child.stderr:
        if moment in line:
            break
    child.send_signal(number)
    child.wait(timeout=60)
    child.stderr.close()
    assert child.stdout is not None
    child.stdout.close()


def leftovers(home: Path) -> list[str]:
    return [p.name for p in home.rglob(".*") if ".tmp-" in p.name or p.name.endswith(".lock")]


def test_a_start_behind_a_kill_works_and_leaves_nothing(
    tiny_hf_folder: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Wherever kill -9 or Ctrl-C came: the next start goes on with what was whole."""
    home = tmp_path / "home"
    kills = [(MOMENTS[0], signal.SIGKILL), (MOMENTS[0], signal.SIGINT)]
    kills += [(MOMENTS[1], signal.SIGKILL)]
    if request.config.getoption("--long"):
        rng = random.Random(5)
        numbers = (signal.SIGKILL, signal.SIGINT)
        kills += [(rng.choice(MOMENTS), rng.choice(numbers)) for _ in range(7)]
    for moment, number in kills:
        kill_at(moment, pull(tiny_hf_folder, home), number)
        time.sleep(0.05 if number == signal.SIGKILL else 0)
    whole = pull(tiny_hf_folder, home)
    out, errors = whole.communicate(timeout=300)
    assert whole.returncode == 0, errors
    assert leftovers(home) == [] and "is ready" in out
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLC_LLM_HOME", str(home))
        found = resolve_model(tiny_hf_folder, policies=Policies(jit="READONLY"))
    assert found.model_lib.is_file() and tiny_models.read_mlc_folder(found.folder)


def test_two_that_begin_at_once_make_each_thing_once(tiny_hf_folder: Path, tmp_path: Path) -> None:
    """One makes the weights, one the library; the other one waits, says so and takes the result."""
    home = tmp_path / "home"
    first = pull(tiny_hf_folder, home)
    said = read_until(first, "Converting ")
    first.send_signal(signal.SIGSTOP)  # it keeps its locks until the second one has seen them
    second = pull(tiny_hf_folder, home)
    waited = read_until(second, "Waiting for another process that makes")
    first.send_signal(signal.SIGCONT)
    logs = []
    for child, before in ((first, said), (second, waited)):
        out, errors = child.communicate(timeout=300)
        logs.append(before + errors)
        assert child.returncode == 0 and "is ready" in out, logs
    # The stop may come before the first one has begun its library: then the second one makes that.
    for work in ("Converting ", "compile: link"):
        assert sum(work in log for log in logs) == 1, (work, logs)
    assert len(list(home.rglob("*-MLC"))) == 1 and leftovers(home) == []
