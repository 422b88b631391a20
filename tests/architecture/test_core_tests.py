"""`./dev test core`: the C++ tests run in two processes, of which either one may fail."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """#!/bin/sh
touch "{folder}/$GTEST_SHARD_INDEX of $GTEST_TOTAL_SHARDS, $1 $2 $MLC_TEST_LONG"
[ "$GTEST_SHARD_INDEX" != "$FAILS" ]
"""


@pytest.fixture
def run_core_tests(tmp_path: Path) -> Any:
    program = tmp_path / "build" / "core" / "mlc_core_test"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM.format(folder=tmp_path))
    program.chmod(0o755)
    run = runpy.run_path(str(ROOT / "dev"))["run_core_tests"]
    run.__globals__["BUILD"] = tmp_path / "build"
    return run


def test_each_process_takes_its_part(run_core_tests: Any, tmp_path: Path) -> None:
    run_core_tests(["--gtest_filter=Kv*"], {"MLC_TEST_LONG": "1"})
    made = {path.name for path in tmp_path.iterdir() if path.is_file()}
    words = "--gtest_brief=1 --gtest_filter=Kv* 1"
    assert made == {f"{part} of 2, {words}" for part in (0, 1)}


@pytest.mark.parametrize("part", ["0", "1"])
def test_a_part_that_fails_ends_the_command(run_core_tests: Any, part: str) -> None:
    with pytest.raises(SystemExit) as end:
        run_core_tests([], {"FAILS": part})
    assert end.value.code == 1
