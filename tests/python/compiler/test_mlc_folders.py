"""`-MLC` folders that MLC-LLM's converter made: a library's parameters from their tensors are those
of our own folder, bit for bit, in every family that is one of MLC-LLM's keys.

`engine/test_mlc_folder_engine.py` does the same in the core.
"""

from __future__ import annotations

from typing import Any

import family_fixtures
import mlc_folder
import numpy as np
import pytest
import tiny_encoders
import tiny_families
from family_fixtures import load, stored
from mlc_folder import mlc_config, mlc_tensors

from mlc_llm.compiler import library
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.convert.weights import SourceRows
from mlc_llm.compiler.models import get, mlc_folders
from mlc_llm.compiler.options import merged_config
from mlc_llm.compiler.quantization import StoredParam
from mlc_llm.compiler.spec import Part, WeightSource
from mlc_llm.compiler.stored_parts import runs, stored_parts, weights_of
from mlc_llm.errors import UnsupportedError

Array = np.ndarray[Any, Any]
NORMALIZED = "baichuan2_13b"
DIVIDED = ("rwkv5", "rwkv6")  # whose weights MLC-LLM divides: `test_rwkv6_family.py`
NAMES = [
    name
    for name in family_fixtures.NAMES
    if mlc_folder.key_of(stored(name)["config"]) in mlc_folder.RULES
    and name not in (NORMALIZED, *DIVIDED)
]


_TABLES = ("embed_tokens", "tok_embeddings", "embeddings", "embd", "wte", "wpe")


def model_of(name: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """The config and the tensors of a fixture, or of the tiny BERT."""
    if name != "bert":
        return load(name).config, load(name).weights
    config = tiny_encoders.config(name)
    return config, tiny_encoders.weights(config)


class Folder:
    """The folder of a model in a quantization, with what a library for it wants."""

    def __init__(self, name: str, scheme: str) -> None:
        config, weights = model_of(name)
        chat = mlc_config(config, scheme)
        assert mlc_folders.is_theirs(chat)
        self.spec = library_spec(chat, device="cpu")
        self.family = get(mlc_folders.text_type(chat["model_type"]))
        self.tensors = mlc_tensors(config, weights)
        self.scheme = self.spec.scheme
        self.uses = {w.name: (w.shape, w.quantizable) for w in self.weight_map()}
        if self.family.mlc is not None:
            self.scheme = self.scheme.with_plain(self.family.mlc.plain)
            self.uses = {
                w.name: (w.shape, w.quantizable)
                for w in weights_of(self.weight_map(), self.family.mlc)
            }

    def weight_map(self) -> Any:
        return self.family.weight_map(self.spec.config)

    def params(self) -> dict[str, Array]:
        """The library's parameters."""
        parts = {}
        if self.family.mlc is not None:
            parts = stored_parts(self.family, self.spec.config, self.scheme)
        stored = self.stored()
        wanted = [
            param
            for name, (shape, use) in self.uses.items()
            for param in self.scheme.stored_params(name, shape, use=use)
        ]
        return {
            p.name: made_of(parts[p.name], p, stored) if p.name in parts else stored[p.name]
            for p in wanted
        }

    def stored(self) -> dict[str, Array]:
        """The folder's tensors, quantized as MLC-LLM quantizes: by the names of modules."""
        found: dict[str, Array] = {}
        for name, value in self.tensors.items():
            use = self._use(name, value)
            source = tiny_families.Source(self.tensors)
            rows = SourceRows(source, weight_of(name, value, use))
            for param, chunks in self.scheme.convert(rows, use=use):
                found[param.name] = np.concatenate(list(chunks)).reshape(param.shape)
        return found

    def _use(self, name: str, value: Array) -> Any:
        if name.rsplit(".", 2)[-2] in _TABLES:
            return "embedding"
        if name in ("lm_head.weight", "output.weight", "head.weight"):
            return "lm_head"
        is_linear = name.endswith(".weight") and value.ndim == 2 and "conv1d" not in name
        if name.endswith("gate.weight") and value.shape[0] <= 256:
            return None
        is_stack = value.ndim == 3 and (".moe_" in name or ".moe." in name)
        return "linear" if is_linear else "experts" if is_stack else None


def weight_of(name: str, value: Array, use: Any) -> WeightSource:
    if use != "experts":
        return WeightSource(name, (Part(name, value.shape),), use)
    count = len(value)
    each = tuple(Part(name, value.shape[1:], (), expert, count) for expert in range(count))
    return WeightSource(name, each, use, count)


def made_of(source: dict[str, Any], wanted: StoredParam, stored: dict[str, Array]) -> Array:
    """What the core makes of the field "from" (docs/model-library.md)."""
    axis, parts = source.get("axis", 0), []
    for part in source["parts"]:
        value = stored[part["name"]]
        assert list(value.shape) == part["shape"], part
        rows = [place for run in part.get("rows", []) for place in places(run)]
        parts.append(np.take(value, rows, axis) if rows else value)
    made, change = np.concatenate(parts, axis), source.get("change")
    if change == "transposed":
        columns, rows = wanted.shape[-2:]
        made = made.reshape(*wanted.shape[:-2], rows, columns).swapaxes(-1, -2)
    if change == "plus_one":
        made = made.astype(np.float32) + np.float32(1)
    if change == "log_minus_log":
        made = np.log(-np.log(made.astype(np.float64))).astype(np.float32)
    if change == "minus_exp":
        made = (-np.exp(made.astype(np.float64))).astype(np.float32)
    return np.ascontiguousarray(made)


def places(run: list[int]) -> list[int]:
    found = [run[0]]
    for count, step in zip(run[1::2], run[2::2], strict=True):
        found = [place + step * i for place in found for i in range(count)]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_floats_are_those_of_the_hugging_face_folder(name):
    fixture, folder = load(name), Folder(name, "q0f32")
    expected, made = fixture.params(), folder.params()
    assert made.keys() == expected.keys()
    for key, value in expected.items():
        assert np.array_equal(made[key], value), key
    kept = {"logit_scale": 0.0625} if name == "cohere" else {}  # which MLC-LLM drops
    typed = folder.family.config_class.from_dict({**fixture.config, **kept})
    assert folder.family.decoder(folder.spec.config) == folder.family.decoder(typed)


def test_floats_of_an_encoder_are_those_of_the_hugging_face_folder():
    config, weights = model_of("bert")
    made = Folder("bert", "q0f32").params()
    expected = tiny_families.converted(tiny_families.Source(weights), config)
    assert made.keys() == expected.keys()
    for key, value in expected.items():
        assert np.array_equal(made[key], value), key


GROUPS = ("q4f16_1", "q3f16_0")


@pytest.mark.parametrize("scheme", GROUPS)
@pytest.mark.parametrize("name", ["cohere", "gemma3_text", "gptj", "mixtral", "qwen3_5"])
def test_codes_are_those_of_the_hugging_face_folder(name, scheme):
    if name == "mixtral" and scheme == "q3f16_0":
        pytest.skip("MLC-LLM stacks experts in schemes of the kind _1 alone")
    (config, weights), folder = model_of(name), Folder(name, scheme)
    source = tiny_families.Source(weights)
    expected, made = tiny_families.converted(source, config, scheme), folder.params()
    assert made.keys() == expected.keys()
    for key, value in expected.items():
        found = made[key].astype(value.dtype)
        assert np.array_equal(found, value), key


def test_llama_4s_experts_stay_floats_and_its_router_is_quantized():
    folder = Folder("llama4_text", "q4f16_1")
    made, expected = folder.params(), load("llama4_text").params()
    layer = "model.layers.1.feed_forward"
    stack = made[f"{layer}.experts.gate_up_proj.weight"]
    assert np.array_equal(stack, expected[f"{layer}.experts.gate_up_proj.weight"].astype("f2"))
    assert made[f"{layer}.router.router.q_weight"].shape == (8, 8)
    with pytest.raises(UnsupportedError, match="e4m3_e4m3_f16") as caught:
        Folder("llama4_text", "e4m3_e4m3_f16")
    assert caught.value.param == "quantization"


def test_latent_matrices_of_eight_bits_name_their_factors():
    config = {**load("deepseek_v3").config, "first_k_dense_replace": 3}  # no experts
    spec = library_spec(mlc_config(config, "fp8_e4m3fn_bf16_block_scale"), device="cpu")
    found = stored_parts(get("deepseek_v3"), spec.config, spec.scheme)
    module = "model.layers.0.self_attn"
    assert found.keys() == {
        f"model.layers.{i}.self_attn.{name}" for i in range(3) for name in ("w_uk", "w_uv")
    }
    part = {"name": f"{module}.w_uk", "shape": [4, 32, 24], "dtype": "uint8"}
    assert found[f"{module}.w_uk"] == {"parts": [{**part, "scales": f"{module}.w_uk_scale_inv"}]}


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("gemma3_text", "e4m3_e4m3_f16"),  # one factor for a tensor
        ("cohere", "fp8_e4m3fn_bf16_block_scale"),  # one for 128 rows, which are reordered
    ],
)
def test_what_cannot_be_joined_is_refused(name, scheme):
    folder = Folder(name, scheme)
    with pytest.raises(UnsupportedError, match=scheme) as caught:
        stored_parts(folder.family, folder.spec.config, folder.scheme)
    assert caught.value.param == "quantization"


def test_baichuan_2_is_refused_by_its_vocabulary():
    config = {**load("baichuan_7b").config, "vocab_size": 125696}
    spec = library_spec(mlc_config(config, "q0f32"), device="cpu")
    with pytest.raises(UnsupportedError, match="vocab_size"):
        stored_parts(get("baichuan"), spec.config, spec.scheme)


def test_our_own_folders_need_no_change():
    chat = {"model_config": {**load("cohere").config, **mlc_folders.OURS}}
    assert not mlc_folders.is_theirs(chat)
    assert not mlc_folders.is_theirs(load("cohere").config)


def folder_of_ours(name: str) -> dict[str, Any]:
    """The config that our converter writes."""
    fixture = load(name)
    model_type = fixture.config["model_type"]
    inner = get(model_type).config_class.from_dict(fixture.config).to_dict()
    inner |= mlc_folders.OURS
    return {"model_type": model_type, "quantization": "q0f32", "model_config": inner}


@pytest.mark.parametrize(
    ("name", "theirs", "ours"), [("gptj", "mlc", "joined"), ("baichuan_7b", None, None)]
)
def test_a_library_says_whose_folders_it_reads_where_orders_differ(name, theirs, ours):
    """GPT-J's tensors have the same names and shapes in both, so that only this tells."""
    chat = folder_of_ours(name)
    for config, expected in ((mlc_config(load(name).config, "q0f32"), theirs), (chat, ours)):
        spec = library_spec(config, device="cpu")
        found = library._folder_layout(spec, get(spec.model_type))
        assert found == ({"folder_layout": expected} if expected else {})


def test_folders_of_mixed_gguf_files_are_ours_alone():
    chat = folder_of_ours("gptj")
    name = "transformer.h.0.mlp.fc_in.weight"
    types = {name: [["Q6_K", 64]]}
    spec = library_spec({**chat, "quantization": "gguf_q4_k", "weight_types": types}, device="cpu")
    assert spec.scheme.config_fields() == {"weight_types": types}
    assert library._folder_layout(spec, get("gptj")) == {}


def test_a_size_of_minus_one_is_not_set():
    config = {"model_config": {"context_window_size": -1, "sliding_window_size": 4096}}
    found = merged_config({**config, "attention_sink_size": -1, "max_batch_size": 8}, {})
    assert found == {
        "context_window_size": 4096, "sliding_window_size": 4096, "max_batch_size": 8
    }  # fmt: skip


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ([], []),
        (range(3, 9), [[3, 6, 1]]),
        ([5], [[5, 1, 1]]),
        ([0, 2, 1, 3, 4, 6, 5, 7], [[0, 2, 4, 2, 1, 2, 2]]),  # pairs of two heads
        ([0, 2, 1, 3, 4, 5], [[0, 2, 2], [1, 2, 2], [4, 2, 1]]),  # pairs of a part of a head
        ([4, 3, 2], [[4, 1, 1], [3, 1, 1], [2, 1, 1]]),
    ],
)
def test_places_are_written_as_loops(order, expected):
    found = runs(np.array(order))
    assert found == expected
    assert [place for run in found for place in places(run)] == list(order)
