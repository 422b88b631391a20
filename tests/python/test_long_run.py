"""Memory stays where it is: many chats, loads and engines in one process.

--long: 2,000 chats with the default model, of which the resident memory after the last is at most
1.02 times that after the 200th (what steps free goes back to the system), and 200 loads and
engines. Loads give much memory back and take it again, so that the resident memory goes up and down
by a megabyte; there it is what is in use of the heap that must not grow. (pydantic keeps the short
strings that it has read, up to 16,384 of them.) Every run has fewer, with a tiny model.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mlc_llm.prepare.model_source import ResolvedModel

SCRIPT = Path(__file__).with_name("long_run.py")
# Rounds before the first reading and in all: with --long, and in every run.
COUNTS = {
    "chats": ((200, 2000), (40, 70)),
    "loads": ((20, 200), (5, 15)),
    "engines": ((20, 200), (5, 15)),
}
# Of resident memory: with --long and in every run, by what it is swayed by; of what is in use.
GROWTH = {"chats": (1.02, 1.05), "loads": (1.05, 1.05), "engines": (1.05, 1.05)}
HEAP_GROWTH = 1.02


@pytest.mark.parametrize("kind", COUNTS)
def test_memory_does_not_grow(kind: str, request: pytest.FixtureRequest) -> None:
    long = request.config.getoption("--long")
    early, count = COUNTS[kind][0 if long else 1]
    chosen = "default_model" if kind == "chats" and long else "tiny_model"
    model: ResolvedModel = request.getfixturevalue(chosen)
    command = [sys.executable, SCRIPT, kind, model.folder, model.model_lib, early, count]
    run = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=10000)
    assert run.returncode == 0, run.stderr
    memory = json.loads(run.stdout.splitlines()[-1])
    early_memory, late_memory = memory["early"], memory["late"]
    print(f"{kind}: {early_memory} after {early}, {late_memory} after {count}")
    growth = GROWTH[kind][0 if long else 1]
    assert late_memory["resident_kb"] <= growth * early_memory["resident_kb"], memory
    assert late_memory["heap_kb"] <= HEAP_GROWTH * early_memory["heap_kb"], memory
