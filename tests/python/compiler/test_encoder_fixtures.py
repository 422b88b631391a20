"""Encoders against results on which two programs that are not ours agree.

`tests/fixtures/encoders` says how they were made. Specifications are computed in NumPy. The
compiled libraries of two of them are compared always, those of the others with `--long`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import encoder_folders
import numpy as np
import pytest
import spec_switches
import tiny_encoders
import tiny_families

from mlc_llm.compiler import models, reference
from mlc_llm.compiler.convert.gguf import GGUFModel
from mlc_llm.compiler.convert.hf import HuggingFaceFolder
from mlc_llm.compiler.convert.weights import as_in_files
from mlc_llm.compiler.layers import Ahead, AttentionSpec, MLPSpec
from mlc_llm.compiler.spec import DecoderSpec, RopeSpec
from mlc_llm.errors import UnsupportedError

FOLDER = Path(__file__).parents[2] / "fixtures" / "encoders"
sys.path.insert(0, str(FOLDER.parent / "families"))
sys.path.insert(0, str(FOLDER))

import encoder_gguf  # noqa: E402
from random_weights import draw, unfolded  # noqa: E402

NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
ALWAYS = ("bert_reranker", "modernbert_reranker")
TOLERANCE = 1e-3  # of the largest number
COUNTS = 0.01  # a switch that changes less than this proves nothing
Array = np.ndarray[Any, Any]


@cache
def stored(name: str) -> dict[str, Any]:
    """The fixture's file: `load` draws its weights too, which takes longer."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


@cache
def load(name: str) -> dict[str, Any]:
    fixture = stored(name)
    shapes = unfolded(fixture["tensors"])
    return {**fixture, "weights": draw(shapes, fixture["seed"], fixture["norm_mean"])}


@cache
def params(name: str) -> dict[str, Array]:
    """Our parameters in float32, by the converter's own way."""
    fixture = load(name)
    return tiny_families.converted(tiny_families.Source(fixture["weights"]), fixture["config"])


def spec_of(name: str) -> DecoderSpec:
    config = load(name)["config"]
    return models.get(config["model_type"]).decoder(models.config_from_hf(config))


def pooling_of(spec: DecoderSpec) -> str:
    head = spec.pooled_head
    return head.pooling if head is not None and head.scores else "mean"


def pooled(states: Array, how: str) -> Array:
    return np.asarray({"cls": states[0], "mean": states.mean(0), "last": states[-1]}[how])


def computed(name: str, spec: DecoderSpec, *, types: bool = True, pooling: str = "") -> Array:
    """In NumPy."""
    made, how = [], pooling or pooling_of(spec)
    for text in load(name)["texts"]:
        given = text["types"] if types else [0] * len(text["ids"])
        states = reference.hidden_states(spec, params(name), text["ids"], given)
        vector = pooled(states, how)
        made.append(
            vector if spec.pooled_head is None else reference.head(spec, params(name), vector)
        )
    return np.array(made)


def apart(made: Array, name: str) -> float:
    expected = np.array(load(name)["results"])
    return float(np.abs(made - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("name", NAMES)
def test_a_config_and_its_tensors_mean_what_the_references_compute(name: str) -> None:
    fixture, typed = load(name), models.config_from_hf(load(name)["config"])
    family = models.get(fixture["config"]["model_type"])
    tensors = tiny_families.Source(fixture["weights"]).tensors()
    weights = as_in_files(family.weight_map(typed), tensors)
    read = {part.tensor for weight in weights for part in weight.parts}
    left = fixture["weights"].keys() - read
    assert all("pooler" in tensor for tensor in left), "only what an embedding does not use"
    assert apart(computed(name, spec_of(name)), name) < TOLERANCE


@pytest.mark.parametrize("name", ["embeddinggemma", "modernbert", "nomic_bert"])
def test_the_gguf_file_is_the_same_model(name: str, tmp_path: Path) -> None:
    """llama.cpp's vectors of these files are within 6e-4 of the fixtures'."""
    fixture = load(name)
    encoder_gguf.write(tmp_path / "model.gguf", fixture["config"], fixture["weights"])
    source = GGUFModel(tmp_path / "model.gguf")
    config = source.hf_config()
    assert config["embedding_metadata"]["pooling_strategy"] == "mean"
    typed = models.config_from_hf(config)
    assert replace(typed, tie_word_embeddings=False) == replace(
        models.config_from_hf(fixture["config"]), tie_word_embeddings=False
    ), "but for the head, which it does not have"
    found = tiny_families.converted(source, config)
    assert found.keys() == params(name).keys()
    assert all(np.array_equal(found[key], value) for key, value in params(name).items())


@pytest.mark.parametrize("own", [{}, {"rope_type": "default"}], ids=str)
@pytest.mark.parametrize("theta", [None, 7.0])
def test_a_window_has_its_own_theta(own: dict[str, Any], theta: float | None) -> None:
    kinds = {"full_attention": {"rope_type": "default", "rope_theta": 5.0}}
    kinds["sliding_attention"] = {**own, **({"rope_theta": theta} if theta else {})}
    config = {"model_type": "modernbert", **load("modernbert")["config"], "local_rope_theta": 9.0}
    typed: Any = models.config_from_hf({**config, "rope_theta": 5.0, "rope_parameters": kinds})
    assert (typed.rope_theta, typed.rope_local_base_freq) == (5.0, theta or 9.0)


@pytest.mark.parametrize(
    ("fields", "ahead"),
    [
        ({}, [4] * 5 + [0, 4]),
        ({"num_hidden_layers": 2}, [4, 4]),
        ({"layer_types": ["sliding_attention"] * 7}, [4] * 7),
        ({"sliding_window": 9, "num_hidden_layers": 1}, [4]),
        ({"sliding_window": None}, [0] * 7),
    ],
    ids=str,
)
def test_an_encoder_sees_half_of_its_window_on_each_side(
    fields: dict[str, Any], ahead: list[int]
) -> None:
    typed: Any = models.config_from_hf({**load("embeddinggemma")["config"], **fields})
    for config in (typed, models.config_from_hf(typed.to_dict(), "gemma3_text")):
        spec = models.get("gemma3_text").decoder(config)
        assert [a.ahead.near for a in spec_switches.parts_of(spec, AttentionSpec)] == ahead
        assert config.sliding_window_size == -1, "an encoder frees no pages"


@pytest.mark.parametrize("fields", [{"sliding_window": 1}, {"sliding_window_size": 8}], ids=str)
def test_windows_that_an_encoder_cannot_have_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedError) as error:
        models.config_from_hf({**load("embeddinggemma")["config"], **fields})
    assert error.value.param in fields


def test_the_linear_layers_lie_in_folders_of_sentence_transformers(tmp_path: Path) -> None:
    fixture = load("embeddinggemma")
    encoder_folders.write_embeddinggemma(tmp_path, fixture)
    source = HuggingFaceFolder(tmp_path)
    read = source.hf_config()
    assert read["dense_layers"] == [96, 64]
    assert models.config_from_hf(read) == models.config_from_hf(fixture["config"])
    found = tiny_families.converted(source, read)
    wanted = params("embeddinggemma")
    assert found.keys() == wanted.keys()
    assert all(np.array_equal(found[key], value) for key, value in wanted.items())
    path = tmp_path / "2_Dense" / "config.json"
    for field, value in (("bias", True), ("activation_function", "torch.nn.Tanh")):
        path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
        with pytest.raises(UnsupportedError) as error:
            source.hf_config()
        assert error.value.param == field


def switched_off(spec: DecoderSpec) -> Iterator[tuple[str, DecoderSpec]]:
    """The specification with one of its differences from a plain encoder less."""

    def every(**changes: Any) -> DecoderSpec:
        return spec_switches.with_fields(spec, AttentionSpec, **changes)

    yield "sees far", every(ahead=Ahead(near=1))
    attentions = spec_switches.parts_of(spec, AttentionSpec)
    if any(a.ahead.near for a in attentions):
        yield "windows", every(ahead=Ahead())
    ropes: list[RopeSpec] = [a.rope for a in attentions if a.rope]
    if len({rope.theta for rope in ropes}) > 1:
        yield "two thetas", every(rope=ropes[0])
    if ropes:
        yield "rotation", every(rope=None)
    if spec.positions:
        yield "positions", replace(spec, positions=0)
    if spec.embedding_norm is not None:
        yield "embedding norm", replace(spec, embedding_norm=None)
    if spec.pooled_head is not None and spec.pooled_head.scores:
        last = spec.pooled_head.layers[-1:]
        yield "head", replace(spec, pooled_head=replace(spec.pooled_head, layers=last),
                              names={**spec.names, "dense_0": spec.names["dense_1"]})  # fmt: skip
    other = "silu" if spec_switches.parts_of(spec, MLPSpec)[0].activation != "silu" else "gelu"
    yield "activation", spec_switches.with_fields(spec, MLPSpec, activation=other)


@pytest.mark.parametrize("name", NAMES)
def test_every_switch_counts(name: str) -> None:
    spec = spec_of(name)
    for switch, without in switched_off(spec):
        assert apart(computed(name, without), name) > COUNTS, switch
    assert apart(computed(name, spec, pooling="last"), name) > COUNTS, "pooling"
    if spec.token_types > 1:
        assert apart(computed(name, spec, types=False), name) > COUNTS, "types of rows"


@pytest.mark.parametrize("name", NAMES)
def test_a_compiled_library_gives_the_references_results(name: str, request: Any) -> None:
    if name not in ALWAYS and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each model; run with --long")
    fixture, spec = load(name), spec_of(name)
    runner = tiny_encoders.EncoderRunner(
        tiny_encoders.built(fixture["config"]), params(name), num_pages=32
    )
    assert ("token_types" in runner.metadata) == (spec.token_types > 1)
    ids = [text["ids"] for text in fixture["texts"]]
    types = [text["types"] for text in fixture["texts"]]
    together = runner.encode(ids, types)
    vectors = np.array([pooled(states, pooling_of(spec)) for states in together])
    made = vectors if spec.pooled_head is None else runner.head(vectors)
    assert apart(made, name) < TOLERANCE
    for states, text, own in zip(together, ids, types, strict=True):
        assert np.array_equal(runner.encode([text], [own])[0], states), "alone it has other bits"
