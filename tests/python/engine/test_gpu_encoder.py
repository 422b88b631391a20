"""Encoders on GPUs: the vectors are those of the CPU, or of the references of a fixture."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import gpu_engines
import numpy as np
import pytest

pytest.importorskip("tvm")
sys.path.append(str(Path(__file__).parents[1] / "compiler" / "support"))
FIXTURES = Path(__file__).parents[2] / "fixtures"
sys.path.append(str(FIXTURES / "families"))

from encoder_folders import write_embeddinggemma  # noqa: E402
from random_weights import draw, unfolded  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402
from tiny_encoders import VOCABULARY, write_folder  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402
from tokenizers.models import WordLevel  # noqa: E402

from mlc_llm import MLCEngine  # noqa: E402
from mlc_llm.compiler.convert import convert_model, open_source  # noqa: E402

TEXTS = ["abc de f", "x", "zebra yak " * 3, "the quick brown fox"]


LONG = gpu_engines.LONG


@pytest.mark.parametrize(
    ("device", "scheme"), [("opencl", "q0f32"), pytest.param("vulkan", "q0f16", marks=LONG)]
)
def test_vectors_are_those_of_the_cpu(
    device: str, scheme: str, tmp_path: Path, library_of: gpu_engines.LibraryOf
) -> None:
    gpu_engines.require(device)
    if scheme == "q0f16":
        gpu_engines.require_half(device)
    source = open_source(write_folder(tmp_path / "bert", "pooling_mode_mean_tokens"))
    convert_model(source, tmp_path / "made", quantization=scheme)
    found = []
    for kind in ("cpu", device):
        model = gpu_engines.compiled(tmp_path / "made", library_of, device=kind)
        with MLCEngine(model.folder, model_lib=str(model.model_lib), device=kind) as engine:
            answer = engine.embeddings.create(input=TEXTS)
            alone = engine.embeddings.create(input=TEXTS[2])
            assert alone.data[0].embedding == answer.data[2].embedding
            found.append(np.array([item.embedding for item in answer.data]))
    limit = 1e-5 if scheme == "q0f32" else 2e-2
    assert np.abs(found[0] - found[1]).max() < limit


def fixture(name: str) -> dict[str, Any]:
    found = json.loads((FIXTURES / "encoders" / f"{name}.json").read_text(encoding="utf-8"))
    weights = draw(unfolded(found["tensors"]), found["seed"], found["norm_mean"])
    return {**found, "weights": weights}


def write(folder: Path, found: dict[str, Any]) -> None:
    """As a Hugging Face folder, with a tokenizer that has a word for each id."""
    folder.mkdir()
    if found["config"]["model_type"] == "gemma3_text":
        write_embeddinggemma(folder, found)
    else:
        save_file(found["weights"], folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(found["config"]))
    words = {f"w{i}": i for i in range(found["config"]["vocab_size"])}
    Tokenizer(WordLevel(words, unk_token="w0")).save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text("{}")


@LONG
@pytest.mark.parametrize("device", gpu_engines.COMMON)
@pytest.mark.parametrize("name", ["embeddinggemma", "modernbert", "nomic_bert"])
def test_vectors_are_those_of_the_references(
    name: str, device: str, tmp_path: Path, library_of: gpu_engines.LibraryOf
) -> None:
    gpu_engines.require(device)
    found = fixture(name)
    write(tmp_path / name, found)
    convert_model(open_source(tmp_path / name), tmp_path / "made", quantization="q0f32")
    model = gpu_engines.compiled(tmp_path / "made", library_of, device=device)
    ids, wanted = [text["ids"] for text in found["texts"]], np.array(found["results"])
    with MLCEngine(model.folder, model_lib=str(model.model_lib), device=device) as engine:
        together = [item.embedding for item in engine.embeddings.create(input=ids).data]
        alone = [engine.embeddings.create(input=[one]).data[0].embedding for one in ids]
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    for made in map(np.array, (together, alone)):
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        assert np.abs(made / lengths - wanted).max() < 1e-3


@LONG
@pytest.mark.parametrize("device", gpu_engines.COMMON)
def test_scores_of_a_reranker_are_those_of_the_cpu(
    device: str, tmp_path: Path, library_of: gpu_engines.LibraryOf
) -> None:
    gpu_engines.require(device)
    found = fixture("modernbert_reranker")
    write(tmp_path / "reranker", found)
    (tmp_path / "reranker" / "tokenizer.json").unlink()
    options = {"do_lower_case": True, "tokenizer_class": "BertTokenizer"}
    (tmp_path / "reranker" / "tokenizer_config.json").write_text(json.dumps(options))
    padding = [f"[unused{i}]" for i in range(found["config"]["vocab_size"] - len(VOCABULARY))]
    words = "\n".join([*VOCABULARY, *padding])
    (tmp_path / "reranker" / "vocab.txt").write_text(words, encoding="utf-8")
    convert_model(open_source(tmp_path / "reranker"), tmp_path / "made", quantization="q0f32")
    scores = []
    for kind in ("cpu", device):
        model = gpu_engines.compiled(tmp_path / "made", library_of, device=kind)
        with MLCEngine(model.folder, model_lib=str(model.model_lib), device=kind) as engine:
            made = engine.rerank.create(query="abc", documents=TEXTS, raw_scores=True)
            scores.append({one.index: one.relevance_score for one in made.results})
    assert len(scores[0]) == len(TEXTS)
    assert scores[1] == pytest.approx(scores[0], abs=1e-3)
