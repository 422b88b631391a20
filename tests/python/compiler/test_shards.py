"""The program of a shard: all shards together make the logits of the whole model, by NumPy."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import gpu_tools
import numpy as np
import pytest
import quick_code
import reference_decoder
import tiny_families
from family_fixtures import load
from kernel_tools import compiled, frozen
from mlc_folder import mlc_config
from shard_runner import ShardRunners, as_shard

from mlc_llm.compiler import models, quantization
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.device_plan import device_plan, weight_bytes
from mlc_llm.compiler.kernels.cpu import shards as on_cpu
from mlc_llm.compiler.kernels.gpu import shards as on_gpu
from mlc_llm.compiler.library import build_module
from mlc_llm.compiler.quantization.shards import Split, matrices_of
from mlc_llm.compiler.reference import Reference
from mlc_llm.compiler.shards import divided
from mlc_llm.compiler.spec.part import Place
from mlc_llm.compiler.spec.shards import sharded, splits
from mlc_llm.compiler.spec.tensors import parameters
from mlc_llm.errors import UnsupportedError

IDS = [int(i) for i in np.random.RandomState(3).randint(0, 128, 24)]
ALWAYS = ("qwen2",)  # biases, and a head of its own
# Shards add up within layers: Mamba 2's norm over all heads and that of queries and keys, Mamba 1's
# choices, the gates of RWKV 5 and 6, the narrow rows of RWKV 6 and 7.
WITHIN = ("granitemoehybrid_dense", "falcon_h1_norm", "olmo2", "minimax_m2", "jamba", "rwkv5",
          "rwkv6", "rwkv7")  # fmt: skip


def shards_of(family: str, config: dict[str, Any], count: int, *, weights: Any) -> Any:
    scheme = "q0f32"
    chat = {**config, "quantization": scheme, "prefill_chunk_size": 64}
    spec = library_spec(chat, device="cpu", overrides=f"tensor_parallel_shards={count}")
    module = quick_code.build(spec, models.get(family))
    stored = tiny_families.converted(tiny_families.Source(weights), config, scheme)
    return ShardRunners(module, stored, num_pages=16)


@pytest.mark.parametrize("family", ["qwen2", "qwen3", "gemma2", "gemma3_text", "phi3", "granite"])
def test_shards_make_the_logits_of_the_model(family, request):
    if family not in ALWAYS and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each family; run with --long")
    config = tiny_families.config(family) | {"num_key_value_heads": 2}
    weights = tiny_families.weights(config)
    expected = reference_decoder.logits(config, weights, IDS)
    made = shards_of(family, config, 2, weights=weights).forward([("a", IDS)])
    assert np.abs(made - expected).max() < 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize("name", WITHIN)
def test_shards_that_add_up_within_layers_make_the_logits_of_the_model(name, request):
    """In two steps."""
    if name != WITHIN[0] and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each family; run with --long")
    fixture = load(name)
    shards = shards_of(fixture.config["model_type"], fixture.config, 2, weights=fixture.weights)
    steps = np.split(np.array(fixture.ids), [7])
    made = np.concatenate([shards.forward([("a", step.tolist())]) for step in steps])
    assert np.abs(made - fixture.logits).max() < 1e-3 * np.abs(fixture.logits).max()


LLAMA_1B = {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
            "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
            "vocab_size": 128256, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5,
            "rope_theta": 500000.0, "tie_word_embeddings": True, "hidden_act": "silu",
            "model_type": "llama", "architectures": ["LlamaForCausalLM"]}  # fmt: skip


# Its narrow layers are floats in all quantizations.
RWKV7 = {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24, "head_dim": 64,
         "decay_low_rank_dim": 96, "a_low_rank_dim": 96, "v_low_rank_dim": 64,
         "gate_low_rank_dim": 256, "vocab_size": 65536, "value_dim": [2048] * 24,
         "hidden_act": "sqrelu", "model_type": "rwkv7"}  # fmt: skip


@pytest.mark.parametrize("scheme", ["q4f16_1", "gguf_q4_0", "q0f16"])
@pytest.mark.parametrize("count", [2, 4, 8])
def test_a_shard_has_its_part_of_the_weights(scheme, count):
    attention = part_of_model(LLAMA_1B, scheme, count).layers[0].parts[0]
    assert (attention.heads, attention.kv_heads) == (32 // count, 8 // count)  # so are its pages


@pytest.mark.parametrize("count", [2, 4])
def test_a_shard_has_its_part_of_narrow_layers(count):
    assert part_of_model(RWKV7, "q4f16_1", count).layers[0].parts[0].heads == 32 // count


def part_of_model(from_hf: dict[str, Any], scheme: str, count: int) -> Any:
    """What a shard computes; checks that it has 1/count of the weights, and 2 % more at most."""
    config: Any = models.config_from_hf(from_hf)
    family, of_scheme = models.get(from_hf["model_type"]), quantization.get(scheme)
    own, splits = divided(family, config, of_scheme, count)
    weights = family.weight_map(config)
    whole = sum(weight_bytes(weight, of_scheme, None) for weight in weights)
    part = sum(weight_bytes(weight, of_scheme, splits.get(weight.name)) for weight in weights)
    assert whole / count <= part < 1.02 * whole / count
    return own


def part_of(weight: Any, split: Split | None, rank: int) -> Any:
    """What a shard has of a weight [outputs, ..., inputs]."""
    if split is None:
        return weight
    if split.axis == "first":
        return weight * (rank == 0)
    firsts = np.cumsum([0, *(size for size, _ in split.pieces)])
    places = [
        first + (rank * own if own < size else 0) + np.arange(own)
        for first, (size, own) in zip(firsts, split.pieces, strict=False)
    ]
    return weight.take(np.concatenate(places), 0 if split.axis == "outputs" else -1)


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize(
    "kind",
    ["lfm2", "qwen3_5", "qwen3_5 tiled", "nemotron_h", "kimi_linear", "falcon_h1", "rwkv5"],
)
def test_the_results_of_shards_add_up_to_that_of_the_layer(kind, count):
    """By NumPy alone, for each kind of mixer. `tiled`: the order of a GGUF file's heads."""
    name, *tiled = kind.split()
    sizes = {"qwen3_5": {"linear_num_key_heads": 4, "linear_num_value_heads": 8},
             "nemotron_h": {"n_groups": 4}, "falcon_h1": {"mamba_n_groups": 1},
             "rwkv5": {"head_size": 32}}.get(name, {})  # fmt: skip
    heads = {} if name.startswith("rwkv") else {"num_key_value_heads": 4}
    config: Any = {**load(name).config, **heads, **sizes}
    spec = models.get(config["model_type"]).decoder(models.config_from_hf(config))
    if tiled:
        layers = [replace(layer, parts=tuple(replace(p, tiled=True) if hasattr(p, "tiled") else p
                                             for p in layer.parts))
                  for layer in spec.layers]  # fmt: skip
        spec = replace(spec, layers=tuple(layers))
    own = sharded(spec, count)
    found, rng = splits(spec, own, count), np.random.default_rng(1)
    shapes = {p.name: (*filter(None, [p.experts]), sum(p.pieces), *p.inputs)
              for p in parameters(spec)}  # fmt: skip
    weights = {name: rng.normal(size=shape) / np.sqrt(shape[-1]) for name, shape in shapes.items()}
    x = rng.normal(size=(6, spec.hidden_size))
    kept: list[dict[Any, Any]] = [{} for _ in range(count + 1)]  # of each shard, and of the whole
    for index, layer in enumerate(spec.layers):
        part, of_shard = layer.parts[0], own.layers[index].parts[0]
        at = Reference(spec, part.tensors, index, params=weights)
        made = np.zeros_like(x)
        for rank in range(count):
            params = {n: part_of(weights[n], found.get(n), rank) for n in at_layer(spec, index)}
            here = replace(at, spec=own, params=params, kept=kept[rank])
            made += of_shard.reference(here, x)
        expected = part.reference(replace(at, kept=kept[count]), x)
        np.testing.assert_allclose(made, expected, rtol=0, atol=1e-9)


def at_layer(spec: Any, index: int) -> list[str]:
    """The weights of the layer's mixer."""
    part = spec.layers[index].parts[0]
    return [p.name for p in part.parameters(Place(spec, part.tensors, index))]


@pytest.mark.parametrize(
    ("family", "count", "what"),
    [
        ("nemotron_h", 4, "2 groups"),
        ("bloom", 2, "heads with ALiBi"),
        ("gemma4_text", 2, "a model whose layers get more"),
    ],
)
def test_what_is_not_divided_is_refused_by_name(family, count, what):
    given = load(family).config
    words = f"shards {count}: .*{what}.* (use --tensor-parallel-shards 1|can have 2 shards)"
    whole = (models.get(given["model_type"]), models.config_from_hf(given))
    with pytest.raises(UnsupportedError, match=words) as found:
        divided(*whole, quantization.get("q0f32"), count)
    assert found.value.param == "tensor_parallel_shards"


@pytest.mark.parametrize(
    ("scheme", "sizes", "words"),
    [
        ("q4f16_1", {"intermediate_size": 2080}, "down_proj.weight .*stores 32 inputs together"),
        # Two halves of 26 groups, as the whole has 52, but the second one would begin in a group.
        ("q3f16_1", {"intermediate_size": 2560}, "o_proj.weight .*stores 40 inputs together"),
    ],
)
def test_a_group_of_weights_is_not_cut(scheme, sizes, words):
    config: Any = models.config_from_hf({**LLAMA_1B, **sizes})
    with pytest.raises(UnsupportedError, match=words):
        divided(models.get("llama"), config, quantization.get(scheme), 2)


def test_experts_of_a_type_of_their_own_are_divided():
    shape, split = (4, 512, 256), Split(2, "outputs", ((512, 256),))
    scheme = quantization.get("gguf_q4_0", weight_types={"w.weight": [["Q8_0", 4 * 512]]})
    whole = scheme.stacked("w.weight", shape, "experts")[0].stored
    (own,) = matrices_of(scheme, "w.weight", shape, "experts", split)
    for part, stored in zip(own.stored, whole, strict=True):
        assert (part.name, part.dtype) == (stored.name, stored.dtype)
        assert part.shape == (4, stored.shape[1] // 2, *stored.shape[2:])
        assert (part.shares.axis, part.shares.runs) == (1, ((0, part.shape[1], part.shape[1]),))


def test_the_folders_number_counts_where_shards_can_run():
    config = {**tiny_families.config("qwen2"), "quantization": "q0f32"}
    chat = {**config, "tensor_parallel_shards": 2}
    made_by_mlc_llm = {**mlc_config(config, "q0f32"), "tensor_parallel_shards": 2}
    assert library_spec(chat, device="x86-64-v3").shards == 2
    assert library_spec(chat, device="x86-64-v3", adapters=True).shards == 1
    assert library_spec(made_by_mlc_llm, device="x86-64-v3").shards == 1
    assert library_spec(chat, device="cuda").shards == 2
    assert library_spec(chat, device="wasm").shards == 1
    asked = library_spec(chat, device="wasm", overrides="tensor_parallel_shards=2")
    with pytest.raises(UnsupportedError, match=r"wasm.* use --tensor") as found:
        build_module(asked, models.get("qwen2"))
    assert found.value.param == "tensor_parallel_shards"


def test_what_the_core_cannot_cut_is_refused_before_it_is_compiled():
    chat = mlc_config(load("cohere").config, "q0f32")
    spec = library_spec(chat, device="cpu", overrides="tensor_parallel_shards=2")
    with pytest.raises(UnsupportedError, match="qkv_proj.* convert the model again") as found:
        build_module(spec, models.get("cohere"))
    assert found.value.param == "tensor_parallel_shards"


def test_rows_of_other_shards_are_zeros_whatever_the_own_row_0_holds():
    """The second shard has tokens 10 to 19."""
    x = np.full((3, 20), np.nan, np.float32)
    x[1] = np.arange(20)
    y, ids, known = np.ones_like(x), np.array([9, 13, 20], np.int32), np.empty(3, np.int32)
    with as_shard(1):
        compiled(on_cpu.known_rows(10))(ids, known)
        compiled(on_cpu.keep_own(10, 20))(x, ids, y)
    assert list(known) == [0, 3, 0]
    assert np.array_equal(y, [np.zeros(20), x[1], np.zeros(20)])


@pytest.fixture(params=["cpu", *gpu_tools.BACKENDS])
def on(request):
    """The kernels of a device, and what compiles them."""
    if request.param == "cpu":
        return on_cpu, compiled
    gpu_tools.require(request.param)
    return on_gpu, partial(gpu_tools.compiled, backend=request.param)


def test_shards_norm_the_pieces_of_a_row_together(on):
    """Three shards; the columns behind the pieces stay as they are."""
    kernels, compiled = on
    rng, pieces, columns, eps = np.random.default_rng(2), (40, 24), 80, 1e-5
    x, others = rng.normal(size=(5, columns)), rng.uniform(20, 60, (5, 2))
    weights = [rng.normal(size=size).astype(np.float32) for size in pieces]
    x, others = frozen(x.astype(np.float32)), others.astype(np.float32)
    squares, y = np.full((5, 2), np.nan, np.float32), np.full((5, columns), np.nan, np.float32)
    compiled(kernels.squares(pieces, columns))(x, squares)
    parts = np.split(x, np.cumsum(pieces), axis=1)
    np.testing.assert_allclose(
        squares, np.stack([(part**2).sum(-1) for part in parts[:2]], 1), rtol=1e-5
    )
    kernel = kernels.norm_of_shards(pieces, columns, 3, eps, ("float32", "float32"))
    compiled(kernel)(x, frozen(squares + others), *map(frozen, weights), y)
    for i, size in enumerate(pieces):
        mean = (squares + others)[:, i : i + 1] / (3 * size)
        parts[i] = parts[i] / np.sqrt(mean + eps) * weights[i]
    np.testing.assert_allclose(y, np.concatenate(parts, axis=1), rtol=1e-5, atol=1e-6)


def test_a_shard_puts_its_columns_among_zeros(on):
    kernels, compiled = on
    x, y = np.arange(1, 61, dtype=np.float32).reshape(3, 20), np.full((3, 60), np.nan, np.float32)
    with as_shard(2):
        compiled(kernels.own_columns(20, 3))(frozen(x), y)
    assert np.array_equal(y, np.concatenate([np.zeros((3, 40)), x], axis=1))


# Llama 3 70B's
LLAMA_70B = LLAMA_1B | {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
                        "num_attention_heads": 64, "head_dim": 128, "tie_word_embeddings": False,
                        "max_position_embeddings": 8192}  # fmt: skip


def test_a_plan_for_devices_that_are_not_here():
    plan = device_plan(LLAMA_70B, "q4f16_1", shards=4, memory_bytes=24 * 10**9)
    assert plan.kv_bytes_per_token == 80 * 2 * 2 * 128 * 2  # layers, k and v, heads, 16 bits
    assert 0.25 < plan.weight_bytes / (70.55e9 * 4.5 / 8) < 0.255
    assert plan.tokens == (int(0.85 * 24e9) - plan.weight_bytes) // plan.kv_bytes_per_token
    assert "does not fit" not in plan.lines()[-1]
    one = device_plan(LLAMA_70B, "q4f16_1", shards=1, memory_bytes=24 * 10**9)
    assert one.tokens == 0 and "does not fit" in one.lines()[-1]
    assert one.kv_bytes_per_token == 4 * plan.kv_bytes_per_token
