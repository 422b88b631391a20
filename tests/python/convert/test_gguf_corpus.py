"""The corpus of the GGUF fuzzer (tests/fuzz/fuzz_gguf.py): each ends read or with a typed error."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parents[2] / "fuzz"
sys.path.insert(0, str(FUZZ))

import fuzz_gguf  # noqa: E402

INPUTS = sorted((FUZZ / "corpus" / "gguf").iterdir())


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_ends_well(path: Path, tmp_path: Path) -> None:
    end = fuzz_gguf.check(path.read_bytes(), tmp_path / "input.gguf")
    assert end != "InternalError"


def test_some_are_read(tmp_path: Path) -> None:
    ends = [fuzz_gguf.check(path.read_bytes(), tmp_path / "input.gguf") for path in INPUTS]
    assert "read" in ends and "CorruptFileError" in ends
