"""The prefix cache of one process is found by the next one, whatever ended the first."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from test_prefix_cache import engine_of

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import ResolvedModel

FAKE = Path(__file__).parents[2] / "fixtures" / "fake-model"
PROMPT = "The sea was calm and the ship went on to the north. " * 30  # a block, and more

# The greedy answers to prompts that begin alike, each with how many tokens were found.
ASK = """
import json, sys
from mlc_llm import MLCEngine
folder, library, device, prompt, first, last, config = sys.argv[1:]
config = json.loads(config)
if limit := config.pop("file_limit", None):  # as on a full disk
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
with MLCEngine(folder, model_lib=library or None, device=device, engine_config=config) as engine:
    for number in range(int(first), int(last)):
        answer = engine.completions.create(
            prompt=prompt + f"Part {number}.", max_tokens=12, temperature=0,
            debug_config={"ignore_eos": True},
        )
        cached = answer.usage.prompt_tokens_details.cached_tokens or 0
        print(json.dumps([answer.choices[0].text, answer.usage.prompt_tokens, cached]), flush=True)
"""


def command(
    folder: object, library: object, device: str, first: int, last: int, config: str
) -> list[str]:
    arguments = [folder, library or "", device, PROMPT, first, last, config]
    return [sys.executable, "-c", ASK, *map(str, arguments)]


def config_of(folder: Path, more: str = "") -> str:
    return f'{{"prefix_cache_dir": "{folder.as_posix()}"{more}}}'


def ask(engine: MLCEngine, number: int = 0) -> tuple[str, int, int]:
    answer: Any = engine.completions.create(
        prompt=PROMPT + f"Part {number}.",
        max_tokens=12,
        temperature=0,
        debug_config={"ignore_eos": True},
    )
    cached = answer.usage.prompt_tokens_details.cached_tokens or 0
    return answer.choices[0].text, answer.usage.prompt_tokens, cached


def test_another_process_finds_it(default_model: ResolvedModel, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    asking = command(default_model.folder, default_model.model_lib, "cpu", 0, 1, config_of(folder))
    subprocess.run(asking, capture_output=True, text=True, timeout=300, check=True)
    with engine_of(default_model) as engine:
        cold, tokens, nothing = ask(engine)
        assert nothing == 0 and tokens > 256
    with engine_of(default_model, prefix_cache_dir=str(folder)) as engine:
        assert ask(engine) == (cold, tokens, tokens - 1)
        assert engine.metrics()["restored_tokens_sum"] >= tokens
        other = ask(engine, 1)
    with engine_of(default_model) as engine:
        assert ask(engine, 1)[0] == other[0]


def fake(folder: Path | None) -> MLCEngine:
    config = {} if folder is None else {"prefix_cache_dir": str(folder)}
    return MLCEngine(FAKE, device="fake", engine_config=config)


@pytest.fixture(scope="module")
def cold() -> list[str]:
    """What an engine answers that keeps nothing."""
    with fake(None) as engine:
        return [ask(engine, number)[0] for number in range(40)]


# Forks, so that Python starts once; the child is killed while it writes.
KILLED = """
import json, os, sys
from mlc_llm import MLCEngine
for line in sys.stdin:
    first, folder = json.loads(line)
    child = os.fork()
    if child == 0:
        with MLCEngine(sys.argv[1], device="fake",
                       engine_config={"prefix_cache_dir": folder}) as engine:
            for number in range(first, 1000000):
                engine.completions.create(prompt=sys.argv[2] + f"Part {number}.", max_tokens=12,
                                          temperature=0)
        os._exit(0)
    print(child, flush=True)
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_killed_while_it_writes(
    cold: list[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder, seed = tmp_path / "kept", random.Random(7)
    arguments = [sys.executable, "-c", KILLED, str(FAKE), PROMPT]
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdin is not None and parent.stdout is not None and parent.stderr is not None
        for number in range(200 if request.config.getoption("--long") else 12):
            written = len(list(folder.glob("*.kv")))
            print(f'[{5 * number}, "{folder}"]', file=parent.stdin, flush=True)
            child = int(parent.stdout.readline())
            end = time.monotonic() + 60
            while len(list(folder.glob("*.kv"))) <= written and time.monotonic() < end:
                time.sleep(0.0005)
            time.sleep(seed.uniform(0, 0.02))
            os.kill(child, signal.SIGKILL)
        parent.stdin.close()
        assert parent.stderr.read() == ""
    names = [path.name for path in folder.iterdir()]
    assert all(re.fullmatch(r"[0-9a-f]{64}\.kv(\.\w+)?", name) for name in names), names
    whole = {path for path in folder.iterdir() if path.suffix == ".kv"}
    with fake(folder) as engine:
        found = [ask(engine, number) for number in range(40)]
    assert [text for text, _, _ in found] == cold
    assert found[0][2] >= 256, "the first block of all is whole"
    assert whole <= set(folder.iterdir()), "a file was damaged, so it was removed"


def test_processes_share_a_folder(cold: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    running = [
        subprocess.Popen(
            command(FAKE, "", "fake", 0, 20, config_of(folder)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in running:
        out, errors = process.communicate(timeout=300)
        assert process.returncode == 0 and errors == ""
        assert [json.loads(line)[0] for line in out.splitlines()] == cold[:20]
    with fake(folder) as engine:
        text, tokens, cached = ask(engine, 19)
    assert (text, cached) == (cold[19], tokens - 1)
    assert all(path.suffix == ".kv" for path in folder.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="its files have no such limit")
def test_a_full_disk_costs_one_line(cold: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    done = subprocess.run(
        command(FAKE, "", "fake", 0, 5, config_of(folder, ', "file_limit": 1000')),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert [json.loads(line)[0] for line in done.stdout.splitlines()] == cold[:5]
    assert done.stderr.count("\n") == 1 and "no longer kept in files" in done.stderr
    assert list(folder.iterdir()) == []


def test_the_budget_holds(tmp_path: Path) -> None:
    folder, budget = tmp_path / "kept", 20000
    config = {"prefix_cache_dir": str(folder), "prefix_cache_dir_bytes": budget}
    with MLCEngine(FAKE, device="fake", engine_config=config) as engine:
        for number in range(20):
            ask(engine, number)
    sizes = [path.stat().st_size for path in folder.iterdir()]
    assert 0 < sum(sizes) <= budget
