"""Encoders through the whole product: a Hugging Face folder of a tiny BERT becomes an engine whose
vectors are those of NumPy."""

from __future__ import annotations

import base64
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from gguf.quants import dequantize, quantize

sys.path.insert(0, str(Path(__file__).parent / "compiler" / "support"))

import reference_encoder  # noqa: E402
import tiny_encoders  # noqa: E402
from tiny_encoders import (  # noqa: E402
    VOCABULARY,
    is_linear,
    weights,
    write_folder,
    write_gguf,
)

from mlc_llm import MLCEngine  # noqa: E402
from mlc_llm.errors import InvalidRequestError, UnsupportedError  # noqa: E402
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model  # noqa: E402

TEXTS = ["abc de f", "x", "Zebra, yak. " * 3, "the quick brown fox", "a b c d e f g h i j"]
TOTAL = 64  # positions of the model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, shared_folder: Path) -> Iterator[ResolvedModel]:
    folder = write_folder(tmp_path_factory.mktemp("bert") / "tiny-bert", "pooling_mode_mean_tokens")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLC_LLM_HOME", str(shared_folder / "home"))
        yield resolve_model(folder, quantization="q0f32", progress=lambda _: None)


def opened(model: ResolvedModel, **config: Any) -> MLCEngine:
    return MLCEngine(model.folder, model_lib=model.model_lib, engine_config=config)


def vectors(engine: MLCEngine, texts: Any, **options: Any) -> list[str]:
    answer = engine.embeddings.create(input=texts, encoding_format="base64", **options)
    return [str(item.embedding) for item in answer.data]


def unpacked(text: str) -> np.ndarray[Any, Any]:
    data = base64.b64decode(text, validate=True)
    return np.array(struct.unpack(f"<{len(data) // 4}f", data))


def ids_of(text: str) -> list[int]:
    """By hand: words of letters, each letter a token."""
    found = [2]
    for word in text.lower().replace(",", " , ").replace(".", " . ").split():
        found += [VOCABULARY.index(c if i == 0 else f"##{c}") for i, c in enumerate(word)]
    return [*found, 3]


def expected(text: str, pooling: str) -> np.ndarray[Any, Any]:
    bert = tiny_encoders.config("bert")
    states = reference_encoder.hidden_states(bert, weights(bert), ids_of(text))
    return reference_encoder.pooled(states, pooling)


@pytest.mark.parametrize("pooling", [None, "cls", "mean", "last"])
def test_vectors_are_those_of_the_reference(model: ResolvedModel, pooling: str | None) -> None:
    """Without a setting they are what the folder says: the mean."""
    config = {"embedding_pooling": pooling} if pooling else {}
    with opened(model, **config) as engine:
        answer = engine.embeddings.create(input=TEXTS)
        assert answer.usage.prompt_tokens == sum(len(ids_of(text)) for text in TEXTS)
        for text, item in zip(TEXTS, answer.data, strict=True):
            assert np.abs(expected(text, pooling or "mean") - item.embedding).max() < 1e-5, text


def test_a_vector_has_the_same_bits_in_any_company(model: ResolvedModel) -> None:
    found = []
    for settings in ({}, {"num_threads": 1}, {"num_threads": 3}, {"max_num_sequence": 1}):
        with opened(model, **settings) as engine:
            found.append(vectors(engine, TEXTS))
            found.append([vectors(engine, text)[0] for text in reversed(TEXTS)][::-1])
            found.append(vectors(engine, [*TEXTS * 40])[-len(TEXTS) :])
    assert all(one == found[0] for one in found[1:])


def test_dimensions_are_the_first_ones_at_length_one(model: ResolvedModel) -> None:
    with opened(model) as engine:
        whole, short = (unpacked(vectors(engine, "abc", dimensions=n)[0]) for n in (64, 8))
    assert short == pytest.approx(whole[:8] / np.linalg.norm(whole[:8]), abs=1e-7)


def test_a_text_that_is_too_long_is_told(model: ResolvedModel) -> None:
    with opened(model) as engine:
        assert len(vectors(engine, "a" * (TOTAL - 2))) == 1
        with pytest.raises(InvalidRequestError) as error:
            vectors(engine, ["a", "a" * (TOTAL - 1)])
        assert error.value.param == "input[1]"
        assert error.value.code == "context_length_exceeded"
    with opened(model, prefill_chunk_size=16) as engine, pytest.raises(InvalidRequestError):
        vectors(engine, "a" * 15)  # a step has 16 rows, and a text is never cut


def test_an_encoder_does_not_chat(model: ResolvedModel) -> None:
    with opened(model) as engine:
        with pytest.raises(UnsupportedError, match=r"encoder.*embeddings\.create"):
            engine.chat.completions.create(messages=[{"role": "user", "content": "Hi"}])
        with pytest.raises(UnsupportedError, match="encoder"):
            engine.completions.create(prompt="Hi")
        assert len(vectors(engine, "it still embeds")) == 1


@pytest.mark.skipif("not config.getoption('--long', default=False)")
def test_a_gguf_file_at_its_own_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linear layers in Q8_0, whose activations have 8 bits too."""
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
    kind = gguf.GGMLQuantizationType.Q8_0
    bert = write_gguf(
        tmp_path / "m.gguf", lambda w: w.add_pooling_type(gguf.PoolingType.MEAN), blocks=True
    )
    known = {
        name: dequantize(quantize(value, kind), kind) if is_linear(name) else value
        for name, value in weights(bert).items()
    }
    with MLCEngine(tmp_path / "m.gguf", device="cpu") as engine:
        answer = engine.embeddings.create(input=TEXTS)
    for text, item in zip(TEXTS, answer.data, strict=True):
        states = reference_encoder.hidden_states(bert, known, ids_of(text))
        assert reference_encoder.pooled(states, "mean") @ np.array(item.embedding) > 0.998, text
