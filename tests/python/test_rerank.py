"""A reranker through the whole product: the Hugging Face folder and the GGUF file of a tiny random
BERT with a classifier become engines whose scores are those of NumPy."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "compiler" / "support"))

import gguf  # noqa: E402
import reference_encoder  # noqa: E402
import tiny_encoders  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402
from tiny_encoders import VOCABULARY, write_folder, write_gguf  # noqa: E402

from mlc_llm import MLCEngine  # noqa: E402
from mlc_llm.compiler.convert.gguf import GGUFModel  # noqa: E402
from mlc_llm.errors import UnsupportedError  # noqa: E402
from mlc_llm.prepare.model_source import resolve_model  # noqa: E402

QUERY = "abc de f"
DOCUMENTS = ["x", "Zebra, yak. " * 2, "the quick brown fox", "", "a b c d e f g h i j " * 9]
TOTAL = 64  # positions of the model


def reranker_config() -> dict[str, Any]:
    own = {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}}
    return {**tiny_encoders.config("bert"), **own}


def head_weights() -> dict[str, Any]:
    rng = np.random.RandomState(11)
    shapes = {"pooler.dense": (64, 64), "classifier": (1, 64)}
    made = {}
    for name, shape in shapes.items():
        made[f"{name}.weight"] = rng.standard_normal(shape).astype(np.float32) * 0.3
        made[f"{name}.bias"] = rng.standard_normal(shape[0]).astype(np.float32) * 0.3
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = write_folder(tmp_path_factory.mktemp("rerank") / "tiny", "pooling_mode_mean_tokens")
    (made / "modules.json").unlink()
    head = head_weights()
    tensors = {f"bert.{name}": value for name, value in _tensors().items()}
    for name, value in head.items():
        tensors[name if name.startswith("classifier") else f"bert.{name}"] = value
    save_file(tensors, made / "model.safetensors")
    (made / "config.json").write_text(json.dumps(reranker_config()))
    return made


def _tensors() -> dict[str, Any]:
    return tiny_encoders.weights(tiny_encoders.config("bert"))


@pytest.fixture(scope="module")
def engine(folder: Path, shared_folder: Path) -> Iterator[MLCEngine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLC_LLM_HOME", str(shared_folder / "home"))
        model = resolve_model(folder, quantization="q0f32", progress=lambda _: None)
        with MLCEngine(model.folder, model_lib=model.model_lib) as engine:
            yield engine


def ids_of(text: str) -> list[int]:
    """By hand: words of letters, each letter a token."""
    found = []
    for word in text.lower().replace(",", " , ").replace(".", " . ").split():
        found += [VOCABULARY.index(c if i == 0 else f"##{c}") for i, c in enumerate(word)]
    return found


def expected(document: str, off: tuple[str, ...] = ()) -> float:
    query = [2, *ids_of(QUERY), 3]
    ids = [*query, *ids_of(document)[: TOTAL - len(query) - 1], 3]
    types = [int(i >= len(query)) for i in range(len(ids))]
    config, head = tiny_encoders.config("bert"), head_weights()
    states = reference_encoder.hidden_states(config, _tensors(), ids, off, types)
    pooled = np.tanh(states[0] @ head["pooler.dense.weight"].T + head["pooler.dense.bias"])
    return float(pooled @ head["classifier.weight"][0] + head["classifier.bias"][0])


def scores(engine: MLCEngine, documents: list[str] = DOCUMENTS) -> list[float]:
    answer = engine.rerank.create(query=QUERY, documents=documents, raw_scores=True)
    return [r.relevance_score for r in sorted(answer.results, key=lambda r: r.index)]


def test_scores_are_those_of_the_reference(engine: MLCEngine) -> None:
    """The last document is cut to the 64 positions that the model has."""
    found, wanted = scores(engine), [expected(text) for text in DOCUMENTS]
    assert found == pytest.approx(wanted, abs=1e-4 * max(map(abs, wanted)))
    without = [expected(text, off=("second_type",)) for text in DOCUMENTS]
    assert max(abs(a - b) for a, b in zip(wanted, without, strict=True)) > 0.01
    answer = engine.rerank.create(query=QUERY, documents=DOCUMENTS, top_n=2)
    best = sorted(range(len(DOCUMENTS)), key=lambda i: -wanted[i])
    assert [r.index for r in answer.results] == best[:2]
    assert answer.results[0].relevance_score == pytest.approx(1 / (1 + np.exp(-wanted[best[0]])))


def test_a_score_has_the_same_bits_beside_any_others(engine: MLCEngine) -> None:
    together = scores(engine)
    assert [scores(engine, [text])[0] for text in DOCUMENTS] == together


def test_a_reranker_makes_no_vectors_and_no_text(engine: MLCEngine) -> None:
    with pytest.raises(UnsupportedError, match="rerank"):
        engine.embeddings.create(input="a")
    with pytest.raises(UnsupportedError, match="rerank"):
        engine.completions.create(prompt="a")


def test_the_gguf_file_is_the_same_model(folder: Path, tmp_path: Path) -> None:
    import tiny_families

    path = tmp_path / "model.gguf"

    def add(writer: gguf.GGUFWriter) -> None:
        writer.add_pooling_type(gguf.PoolingType.RANK)
        names = {"pooler.dense": "cls", "classifier": "cls.output"}
        for name, value in head_weights().items():
            module, kind = name.rsplit(".", 1)
            writer.add_tensor(f"{names[module]}.{kind}", value)

    write_gguf(path, add)
    source = GGUFModel(path)
    plain = tiny_families.Source({**_tensors(), **head_weights()})
    wanted = tiny_families.converted(plain, reranker_config())
    found = tiny_families.converted(source, source.hf_config())
    assert wanted.keys() == found.keys()
    assert all(np.array_equal(found[name], value) for name, value in wanted.items())


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"id2label": {"0": "no", "1": "yes"}}, "num_labels"),
        ({"num_labels": 3}, "num_labels"),
        (
            {"model_type": "qwen3", "architectures": ["Qwen3ForSequenceClassification"]},
            "architectures",
        ),
    ],
)
def test_other_classifiers_are_refused(fields: dict[str, Any], param: str) -> None:
    from mlc_llm.compiler import models

    with pytest.raises(UnsupportedError) as error:
        models.config_from_hf({**reranker_config(), **fields})
    assert error.value.param == param
