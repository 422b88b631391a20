"""Adapters of experts and of latent attention: merged, chosen at run time, or refused by name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_experts
from family_fixtures import load
from safetensors.numpy import load_file
from tiny_families import Collector, Source, converted
from tiny_llama import CONFIG

from mlc_llm.compiler import models, quantization
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.convert.adapters.factors import Adapter, Factors
from mlc_llm.compiler.convert.adapters.merge import Merge
from mlc_llm.compiler.convert.adapters.run_time import write_run_time
from mlc_llm.compiler.convert.weights import as_in_files, convert_weights
from mlc_llm.compiler.library import build_module
from mlc_llm.compiler.nn.builder import Builder
from mlc_llm.errors import UnsupportedError

Array = np.ndarray[Any, Any]


def random_adapter(shapes: dict[str, tuple[int, ...]], seed: int = 0) -> Adapter:
    rng = np.random.default_rng(seed)

    def factors(outs: int, ins: int) -> Factors:
        a, b = rng.standard_normal((2, ins), np.float32), rng.standard_normal((outs, 2), np.float32)
        return Factors(a, b, 0.5)

    made = {name: factors(*shape) for name, shape in shapes.items()}
    return Adapter(Path("adapter"), "huggingface", made)


def test_experts_with_tensors_of_their_own_are_merged():
    c = tiny_experts.config("mixtral")
    weights = tiny_experts.weights(c)
    chosen = ("experts.3.w1.weight", "experts.3.w2.weight", "experts.5.w3.weight", "gate.weight",
              "v_proj.weight")  # fmt: skip
    adapter = random_adapter({n: w.shape for n, w in weights.items() if n.endswith(chosen)})
    family, source = models.get("mixtral"), Source(weights)
    merge = Merge([(adapter, 2.0)], family, models.config_from_hf(c))
    sources = as_in_files(family.weight_map(models.config_from_hf(c), source.format), weights)
    found = Collector()
    scheme = quantization.get("q0f32")
    convert_weights(source, sources, scheme, found, lambda _: None, change_of=merge.of)
    for name, f in adapter.factors.items():
        weights[name] = weights[name] + 2.0 * f.scale * (f.b @ f.a)
    wanted = converted(Source(weights), c)
    assert found.arrays.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(found.arrays[name], value, rtol=0, atol=1e-5, err_msg=name)


def test_experts_are_refused_at_run_time(tmp_path):
    c = tiny_experts.config("mixtral")
    name = "model.layers.1.block_sparse_moe.experts.3.w2.weight"
    adapter = random_adapter({name: tiny_experts.weights(c)[name].shape})
    with pytest.raises(UnsupportedError, match=r"layers\.1\.moe\.e2 is no linear layer"):
        write_run_time(adapter, c, tmp_path / "adapter")


@pytest.mark.parametrize("name", ["deepseek_v2", "minicpm3"])
def test_projections_of_latent_attention_take_adapters_or_are_refused_by_name(
    name, tmp_path, monkeypatch
):
    """What an adapter's file has, a library takes too."""
    fixture, said = load(name), []
    c = fixture.config
    monkeypatch.setattr(Builder, "text_function", lambda nn, name, text: said.append(text))
    chat = {**c, "quantization": "q0f32", "prefill_chunk_size": 64}
    build_module(library_spec(chat, device="cpu", adapters=True), models.get(name))
    layers = {one["name"] for one in json.loads(said[-1])["adapters"]["layers"]}
    taken = set()
    for tensor, value in fixture.weights.items():
        module = tensor.removesuffix(".weight").rpartition(".")[2]
        if ".self_attn." not in tensor or value.ndim != 2:
            continue
        try:
            write_run_time(random_adapter({tensor: value.shape}), c, tmp_path / "adapter")
        except UnsupportedError as error:
            assert "is no linear layer" in str(error)
            assert module == "kv_b_proj" or any(size % 16 for size in value.shape)
            continue
        written = {key.removesuffix(".a") for key in load_file(tmp_path / "adapter")}
        assert {key for key in written if not key.endswith(".b")} <= layers
        taken.add(module)
    assert {"kv_a_proj_with_mqa", "o_proj"} <= taken


def step_of(monkeypatch, **options: bool) -> dict[str, Any]:
    """The program of a step of a small Llama."""
    said: dict[str, str] = {}
    monkeypatch.setattr(Builder, "text_function", lambda nn, name, text: said.update({name: text}))
    chat = {**CONFIG, "hidden_size": 64, "intermediate_size": 96, "quantization": "q4f16_1"}
    build_module(library_spec(chat, device="cpu", **options), models.get("llama"))
    return json.loads(said["_programs"])["batch_prefill"]


def calls_without_units(program: dict[str, Any]) -> list[tuple[str, int]]:
    """The kernels that the core calls, and how many arguments they get."""
    kinds = {"i": program["inputs"], "t": program["temporaries"]}
    units = {f"{c}{n}" for c, them in kinds.items() for n, one in enumerate(them)
             if one["shape"][0] == "u"}  # fmt: skip
    assert all(argument.rstrip("!") in units for _, *arguments in program["calls"]
               for argument in arguments if argument.endswith("!"))  # fmt: skip
    return [
        (re.sub(r"_?\d+$", "", kernel), sum(not argument.endswith("!") for argument in arguments))
        for kernel, *arguments in program["calls"]
        if not units & set(arguments)
    ]


def test_a_step_without_adapters_makes_the_calls_of_a_library_without_them(monkeypatch):
    plain, adapted = (step_of(monkeypatch, adapters=adapters) for adapters in (False, True))
    assert len(adapted["calls"]) > len(plain["calls"]) > 10
    assert calls_without_units(adapted) == calls_without_units(plain)
