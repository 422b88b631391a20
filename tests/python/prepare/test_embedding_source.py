"""Embedding models by a folder or by `HF://`: all files that decide about vectors count."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tvm")  # the helpers of the compiler's tests import it

sys.path.append(str(Path(__file__).parents[1] / "compiler" / "support"))
from fake_hub import FakeHub, serve  # noqa: E402
from tiny_encoders import write_folder  # noqa: E402

from mlc_llm.prepare.model_source import resolve_folder  # noqa: E402

MEAN, CLS = "pooling_mode_mean_tokens", "pooling_mode_cls_token"


def config_of(model: Any, **options: Any) -> dict[str, Any]:
    folder = resolve_folder(model, progress=lambda _: None, **options)
    return dict(json.loads((folder / "mlc-chat-config.json").read_text()))


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    for name in ("MLC_JIT_POLICY", "MLC_DOWNLOAD_CACHE_POLICY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def test_another_pooling_is_another_model(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "bert", MEAN)
    assert config_of(folder)["embedding_metadata"]["pooling_strategy"] == "mean"
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({CLS: True}))
    assert config_of(folder)["embedding_metadata"]["pooling_strategy"] == "cls"


def test_vectors_get_eight_bits_if_nothing_is_said(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "bert", MEAN)
    assert config_of(folder)["quantization"] == "q8f32_1"
    assert config_of(folder, quantization="q4f32_1")["quantization"] == "q4f32_1"


def test_a_download_has_the_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_folder(tmp_path / "bert", MEAN, normalize=False)
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    with serve(FakeHub(files | {"onnx/model.onnx": b"no"})) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        written = config_of("HF://org/repo")
    assert written["embedding_metadata"] == {
        "model_type": "encoder", "pooling_strategy": "mean", "normalize": False
    }  # fmt: skip
    assert not hub.ranges("onnx/model.onnx")
