"""What runs a step binds its inputs by name: codegen/schema/step.py is the only list of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from codegen.schema.step import STEP_INPUTS

ROOT = Path(__file__).resolve().parents[2]
RUNNERS = "core/src/model/runner"
# What a runner needs of a batch besides: the tokens for `embed`, what it pads, and which results
# have rows.
_USED = {"tokens", "page_indices", "windowed_indices", "logit_rows", "hidden_rows"}
_NAMES = "|".join(row.name for row in STEP_INPUTS if row.name not in _USED)
_BY_POSITION = (
    r"ProgramInput\s+\w+\[",  # a list of inputs by hand
    r"(inputs|values|arguments)_?\)*\[\s*\d",
    rf"batch(\.|->)({_NAMES})\b",
)


def strays(folder: Path) -> list[str]:
    return [
        f"{path.name}: {found.group()}"
        for path in sorted(folder.glob("*.*"))
        for pattern in _BY_POSITION
        for found in re.finditer(pattern, path.read_text(encoding="utf-8"))
    ]


def test_no_runner_binds_by_position() -> None:
    assert len(list((ROOT / RUNNERS).glob("*_executor.cc"))) > 2
    assert strays(ROOT / RUNNERS) == []


@pytest.mark.parametrize(
    "line",
    [
        "ProgramInput inputs[13] = {};",
        "inputs[3] = InputOf(rows);",
        "(*values)[0] = {embeddings, 1};",
        "run({InputOf(batch.positions), InputOf(batch.slots)});",
    ],
)
def test_the_rule_sees_a_runner_that_does(tmp_path: Path, line: str) -> None:
    path = tmp_path / "gpu_executor.cc"
    path.write_text("(*values)[index(kEmbeddings)] = {rows, batch.tokens.size()};\n")
    assert strays(tmp_path) == []
    path.write_text(f"{line}\n")
    assert strays(tmp_path)
