"""Where a model library may lie."""

from __future__ import annotations

import shutil
from pathlib import Path

import mlc_core_parts
import pytest

from mlc_llm.prepare.model_source import ResolvedModel


@pytest.mark.parametrize("name", ["a.so", "./b.so", "../here/c.so"])
def test_a_library_may_lie_in_the_current_folder(
    name: str, tiny_model: ResolvedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loader looks for a bare name in the system's folders."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    shutil.copyfile(tiny_model.model_lib, name)
    runner = mlc_core_parts.ModelRunner(str(tiny_model.folder), name, 16)
    assert runner.vocab_size > 0
