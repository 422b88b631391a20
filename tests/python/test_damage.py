"""Random damage to a prepared model: a typed error or a load that works, never a crash or a hang.

One worker process loads case after case, so that a crash of the core is seen and attributed.
"""

from __future__ import annotations

import json
import random
import re
import select
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlc_llm.prepare.model_source import ResolvedModel

FILES = (
    "params_shard_0.bin",
    "tensor-cache.json",
    "mlc-chat-config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "model.so",
)
SECONDS_PER_CASE = 120
HOSTILE = (b"-1", b"0", b"1e400", b"0.5", b"2147483648", b"9223372036854775807", b'""', b"null")
WORKER = """
import json, sys
from mlc_llm import MLCEngine, MLCError

def load(folder):
    with MLCEngine(folder, model_lib=folder + "/model.so", device="cpu") as engine:
        for _ in engine.chat.completions.create(
            messages=[{"role": "user", "content": "hello there"}], max_tokens=2, stream=True
        ):
            pass

for line in sys.stdin:
    try:
        load(line.strip())
        end = "works"
    except MLCError as error:
        end = type(error).__name__ if error.message else "no message"
    except BaseException as error:
        end = f"untyped: {error!r}"
    # Not getrusage: its peak begins with the parent's.
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    megabytes = int(peak.split()[1]) // 1024
    print(json.dumps([end, megabytes]), flush=True)
"""


class Worker:
    """A process that loads models and says how each ended."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.megabytes = 0

    def load(self, folder: Path) -> str:
        assert self._child.stdin is not None and self._child.stdout is not None
        self._child.stdin.write(f"{folder}\n")
        self._child.stdin.flush()
        if not select.select([self._child.stdout], [], [], SECONDS_PER_CASE)[0]:
            return "hang"
        line = self._child.stdout.readline()
        if not line:
            return f"crash with status {self._child.wait()}"
        end, self.megabytes = json.loads(line)
        return str(end)

    def close(self) -> None:
        self._child.kill()
        self._child.communicate()


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Never the same."""
    while (changed := maybe_damaged(data, rng)) == data:
        pass
    return changed


def maybe_damaged(data: bytes, rng: random.Random) -> bytes:
    """A cut, one to four flipped bits, or another value where a number stands."""
    kind = rng.randrange(5)
    if kind == 0:
        return data[: rng.randrange(len(data))]
    numbers = list(re.finditer(rb"(?<=[: \[])-?\d[\d.]*(?=[,\]}\s])", data)) if kind < 3 else []
    if numbers:
        number = rng.choice(numbers)
        return data[: number.start()] + rng.choice(HOSTILE) + data[number.end() :]
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


@pytest.fixture
def worker() -> Iterator[Worker]:
    opened = Worker()
    yield opened
    opened.close()


def test_damage_ends_in_an_error_or_a_working_load(
    worker: Worker, tiny_model: ResolvedModel, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rounds = 1000 if request.config.getoption("--long") else 200
    rng = random.Random(20)
    whole = {name: (tiny_model.folder / name).read_bytes() for name in FILES[:-1]}
    whole["model.so"] = tiny_model.model_lib.read_bytes()
    ends: Counter[tuple[str, str]] = Counter()
    for case in range(rounds):
        folder = tmp_path / str(case)  # a library that was loaded from a path may stay loaded
        folder.mkdir()
        name = FILES[case % len(FILES)]
        for other, data in whole.items():
            (folder / other).write_bytes(damaged(data, rng) if other == name else data)
        end = worker.load(folder)
        ends[name, end] += 1
        is_fine = end == "works" or end.endswith("Error")
        assert is_fine, f"{end}: case {case}, {folder / name}"  # the folder is left for a look
        shutil.rmtree(folder)
    typed = sum(count for (_, end), count in ends.items() if end != "works")
    assert typed > rounds // 2, ends
    assert ends["model.so", "works"] == 0, ends
    assert worker.megabytes < 2000, worker.megabytes
    folder = tmp_path / "whole"
    folder.mkdir()
    for name, data in whole.items():
        (folder / name).write_bytes(data)
    assert worker.load(folder) == "works"
