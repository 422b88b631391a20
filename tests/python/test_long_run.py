"""Memory stays where it is: many chats, loads and engines in one process.

--long: 2,000 chats, of which the memory after the last is at most 1.02 times that after the 200th.
Loads may cost a few kilobytes each (the allocator's fragments, 3 kB measured over 600 loads; the
sanitizers' runs find no leak), so their bound is wider.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mlc_llm.model_source import ResolvedModel

SCRIPT = Path(__file__).with_name("long_run.py")
# Rounds before the first reading and in all: with --long, and in every run.
COUNTS = {
    "chats": ((200, 2000), (40, 100)),
    "loads": ((20, 200), (5, 15)),
    "engines": ((20, 200), (5, 15)),
}
GROWTH = {"chats": 1.02, "loads": 1.05, "engines": 1.05}


@pytest.mark.parametrize("kind", COUNTS)
def test_memory_does_not_grow(
    kind: str, tiny_model: ResolvedModel, request: pytest.FixtureRequest
) -> None:
    early, count = COUNTS[kind][0 if request.config.getoption("--long") else 1]
    command = [sys.executable, SCRIPT, kind, tiny_model.folder, tiny_model.model_lib, early, count]
    run = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=3000)
    assert run.returncode == 0, run.stderr
    memory = json.loads(run.stdout.splitlines()[-1])
    print(f"{kind}: {memory['early_kb']} kB after {early}, {memory['late_kb']} kB after {count}")
    assert memory["late_kb"] <= GROWTH[kind] * memory["early_kb"], memory
