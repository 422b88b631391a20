"""EmbeddingGemma through the whole product: the folder of a tiny random model becomes an engine
whose vectors are those on which transformers and llama.cpp agree."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "python" / "compiler" / "support"))
sys.path.insert(0, str(ROOT / "fixtures" / "families"))

from encoder_folders import write_embeddinggemma  # noqa: E402
from random_weights import draw, unfolded  # noqa: E402

from mlc_llm import MLCEngine  # noqa: E402
from mlc_llm.errors import InvalidRequestError, UnsupportedError  # noqa: E402
from mlc_llm.prepare.model_source import resolve_model  # noqa: E402


def fixture() -> dict[str, Any]:
    path = ROOT / "fixtures" / "encoders" / "embeddinggemma.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    weights = draw(unfolded(found["tensors"]), found["seed"], found["norm_mean"])
    return {**found, "weights": weights}


def test_vectors_are_those_of_the_references(
    tmp_path: Path, shared_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = fixture()
    write_embeddinggemma(tmp_path, found)
    words = {f"w{i}": i for i in range(found["config"]["vocab_size"])}
    Tokenizer(WordLevel(words, unk_token="w0")).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text("{}")
    monkeypatch.setenv("MLC_LLM_HOME", str(shared_folder / "home"))
    model = resolve_model(tmp_path, quantization="q0f32", progress=lambda _: None)
    config = json.loads((model.folder / "mlc-chat-config.json").read_text())
    assert config["embedding_metadata"] == {
        "model_type": "encoder", "pooling_strategy": "mean", "normalize": True
    }  # fmt: skip
    ids = [text["ids"] for text in found["texts"]]
    wanted = np.array(found["results"])
    wanted = wanted / np.linalg.norm(wanted, axis=1, keepdims=True)
    with MLCEngine(model.folder, model_lib=model.model_lib) as engine:
        answer = engine.embeddings.create(input=ids)
        made = np.array([item.embedding for item in answer.data])
        assert np.abs(made - wanted).max() < 1e-3
        short = engine.embeddings.create(input=ids[:1], dimensions=16).data[0].embedding
        begin = wanted[0, :16] / np.linalg.norm(wanted[0, :16])
        assert np.abs(np.array(short) - begin).max() < 1e-3
        with pytest.raises(InvalidRequestError) as error:
            engine.embeddings.create(input=ids[:1], dimensions=65)
        assert error.value.param == "dimensions"
        with pytest.raises(UnsupportedError, match="no reranker"):
            engine.rerank.create(query="w1", documents=["w2"])
