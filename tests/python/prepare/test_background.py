"""The weights are converted and the library is compiled at the same time; either one may fail.

Scripts stand in for the two child processes. They wait for each other through files.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import tiny_models

from mlc_llm.compiler.trailer import trailer
from mlc_llm.errors import CorruptFileError, InternalError
from mlc_llm.prepare import jit_child
from mlc_llm.prepare.jit_cache import LibraryOptions, library_path
from mlc_llm.prepare.model_source import resolve_model
from mlc_llm.prepare.progress import Steps
from mlc_llm.prepare.temporary_files import locked

CONFIG = {"model_type": "llama", "quantization": "q4f32_1", "vocab_size": 300}

# What every script begins with: its job, and functions to answer and to wait for a file.
_PROLOGUE = """
import json, os, sys, time
from pathlib import Path
job, marks = json.loads(sys.argv[1]), Path(sys.argv[2])
output = Path(job["output"])
def say(**answer):
    print(json.dumps(answer), flush=True)
def fail(message):
    say(error={"message": message, "code": "corrupt_file"})
    sys.exit(1)
def wait_for(name):
    for _ in range(6000):
        if (marks / name).exists():
            return
        time.sleep(0.01)
    sys.exit(3)
"""
_SAY_CONFIG = "say(config=json.loads(CONFIG))\n"
_WRITE_WEIGHTS = """
output.mkdir(parents=True)
(output / "tensor-cache.json").write_text('{"records": []}')
(output / "mlc-chat-config.json").write_text(CONFIG)
"""
_BEGIN = "(marks / 'compiling').touch()\n"
_WRITE_LIBRARY = f"output.write_bytes({b'library' + trailer(b'library')!r})\n"
_FOR_EVER = "time.sleep(600)\n"


class Fakes:
    """Starts the scripts, and remembers their processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scripts: dict[str, str] = {}
        self.started: dict[str, subprocess.Popen[str]] = {}

    def start(self, job: dict) -> subprocess.Popen[str]:
        script = f"CONFIG = {json.dumps(CONFIG)!r}\n{_PROLOGUE}" + self.scripts[job["kind"]]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [sys.executable, "-I", "-c", script, json.dumps(job), str(self.folder)]
        self.started[job["kind"]] = subprocess.Popen(command, **pipes, text=True)
        return self.started[job["kind"]]

    def are_ended(self) -> bool:
        """Whether both have been started, and have ended without the tests' doing."""
        ended = [child.returncode is not None for child in self.started.values()]
        return ended == [True, True]


@pytest.fixture
def fakes(tmp_path, monkeypatch):
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
    made = Fakes(tmp_path)
    monkeypatch.setattr(jit_child, "_start", made.start)
    yield made
    for child in made.started.values():
        child.kill()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_models.write_hf_folder(tmp_path_factory.mktemp("hf"), tiny_models.random_weights())


def made_files(home: Path) -> list[str]:
    """What conversions and compilations have left, except remembered hashes."""
    found = [*(home / "model_lib").glob("*"), *(home / "model_weights/converted").glob("*")]
    return [path.name for path in found]


def test_both_run_at_the_same_time(fakes, folder, tmp_path):
    fakes.scripts = {
        "convert": _SAY_CONFIG + "wait_for('compiling')\n" + _WRITE_WEIGHTS,
        "compile": _BEGIN + _WRITE_LIBRARY,
    }
    found = resolve_model(folder, progress=Steps())
    assert found.config == CONFIG and found.folder.is_dir() and found.model_lib.is_file()
    assert fakes.are_ended()
    fakes.started.clear()
    assert resolve_model(folder, progress=Steps()) == found and not fakes.started
    found.model_lib.unlink()  # with the weights there, the library alone is made
    assert resolve_model(folder, progress=Steps()) == found and list(fakes.started) == ["compile"]


def test_a_compilation_that_fails_stops_the_conversion(fakes, folder, tmp_path):
    stage = "(output.parent / f'.{output.name}.tmp-x').mkdir(parents=True)\n"
    fakes.scripts = {
        "convert": stage + _SAY_CONFIG + _FOR_EVER,
        "compile": "fail('no such kernel')\n",
    }
    with pytest.raises(CorruptFileError, match="no such kernel"):
        resolve_model(folder, progress=Steps())
    assert fakes.are_ended() and made_files(tmp_path / "home") == []


def test_a_conversion_that_fails_stops_the_compilation(fakes, folder, tmp_path):
    fakes.scripts = {
        "convert": _SAY_CONFIG + "wait_for('compiling')\nfail('a NaN')\n",
        "compile": _BEGIN + _FOR_EVER,
    }
    with pytest.raises(CorruptFileError, match="a NaN"):
        resolve_model(folder, progress=Steps())
    assert fakes.are_ended() and made_files(tmp_path / "home") == []


def test_a_killed_child_is_an_error(fakes, folder):
    kill = "os.kill(os.getpid(), 9)\n"
    fakes.scripts = {"convert": _SAY_CONFIG + _FOR_EVER, "compile": kill}
    with pytest.raises(InternalError, match="Compiling .* status -9"):
        resolve_model(folder, progress=Steps())
    assert fakes.are_ended()


class Interrupted(Steps):
    """Ctrl-C comes with the first note."""

    def note(self, line):
        raise KeyboardInterrupt


def test_ctrl_c_stops_both(fakes, folder, tmp_path):
    fakes.scripts = {
        "convert": _SAY_CONFIG + "wait_for('compiling')\nsay(note='now')\n" + _FOR_EVER,
        "compile": _BEGIN + _FOR_EVER,
    }
    with pytest.raises(KeyboardInterrupt):
        resolve_model(folder, progress=Interrupted())
    assert fakes.are_ended() and made_files(tmp_path / "home") == []


def test_weights_of_a_failed_start_stay_when_they_are_whole(fakes, folder):
    done = "(marks / 'converted').touch()\n"
    fakes.scripts = {
        "convert": _SAY_CONFIG + _WRITE_WEIGHTS + done,
        "compile": "wait_for('converted')\nfail('no such kernel')\n",
    }
    converted = fakes.folder / "home" / "model_weights" / "converted"
    with pytest.raises(CorruptFileError, match="no such kernel"):
        resolve_model(folder, progress=Steps())
    assert len(list(converted.glob("*-MLC"))) == 1


class Waiting(Steps):
    """Leaves a mark when another process has the lock."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def step(self, title, measure=None):
        if title.startswith("Waiting for another process"):
            self.mark.touch()
        return super().step(title, measure)


def test_waiting_for_another_process_ends_with_an_error(fakes, folder, tmp_path):
    """Another process compiles the same library when this conversion fails."""
    fakes.scripts = {"convert": _SAY_CONFIG + "wait_for('waiting')\nfail('a NaN')\n"}
    library = library_path(CONFIG, device="cpu", options=LibraryOptions())
    with locked(library, Steps()), pytest.raises(CorruptFileError, match="a NaN"):
        resolve_model(folder, progress=Waiting(tmp_path / "waiting"))
    assert list(fakes.started) == ["convert"]
