"""Which models a server finds, and by which names."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlc_llm.serve import catalogue
from mlc_llm.serve.catalogue import Catalogue, ModelSpec, kept_here, models_in

TEMPLATE = ModelSpec(model=None, device="cpu")


def test_models_in_a_folder(tmp_path: Path) -> None:
    for name in (
        "small.gguf", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf", "mmproj-x.gguf",
        "org/repo/file-Q4_0.gguf", ".hidden/x.gguf", "notes.txt", "a/b/c/d/too-deep.gguf",
        "plain/config.json", "ready/mlc-chat-config.json", "ready/inner/config.json",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    found = {spec.names: spec for spec in models_in(tmp_path, TEMPLATE)()}
    assert set(found) == {
        ("small",), ("big-00001-of-00002",), ("file-Q4_0", "org/repo/file-Q4_0"), ("plain",),
        ("ready",),
    }  # fmt: skip
    assert found["small",].model == str(tmp_path / "small.gguf")
    assert found["plain",].device == "cpu"
    assert list(models_in(tmp_path / "nothing", TEMPLATE)()) == []


def test_models_that_come_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_SCAN_SECONDS", 0.0)
    known = Catalogue(sources=[models_in(tmp_path, TEMPLATE)])
    assert known.find("later") is None and known.find(None) is None
    (tmp_path / "later.gguf").write_text("")
    spec = known.find("later")
    assert spec is not None and known.find("later.gguf") is None
    assert known.find(str(tmp_path / "later.gguf")) == spec == known.find(None)
    assert known.near("LATR") == ["later"] and known.near("x" * 100_000) == []


def test_the_first_of_two_with_the_same_name_counts() -> None:
    first = ModelSpec(model="/one", names=("a", "b"))
    second = ModelSpec(model="/two", names=("b", "c"))
    third = ModelSpec(model="/three", names=("a",))
    known = Catalogue([first], [lambda: [first, second, third]])
    assert [spec.names for spec in known.all()] == [("a", "b"), ("c",)]
    assert known.find("b") == first


def test_kept_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path))
    weights = tmp_path / "model_weights"
    folder = weights / "converted" / "tiny-q0f32-0123456789ab-MLC"
    folder.mkdir(parents=True)
    (weights / "embedded").mkdir()
    (weights / "embedded" / "x.gguf").write_text("")
    (tmp_path / "model_lib").mkdir()
    (tmp_path / "model_lib" / "stray.so").write_text("")
    found = {spec.names[0]: spec for spec in kept_here(TEMPLATE)()}
    assert set(found) == {"tiny", "SmolLM2-135M-Instruct"}
    assert found["tiny"].names == ("tiny", "tiny-q0f32") and found["tiny"].model == str(folder)
    assert found["SmolLM2-135M-Instruct"].model is None
