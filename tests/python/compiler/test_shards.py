"""The program of a shard: all shards together make the logits of the whole model, by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import quick_code
import reference_decoder
import tiny_families
from family_fixtures import load
from shard_runner import ShardRunners

from mlc_llm.compiler import models, quantization
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.device_plan import device_plan, weight_bytes
from mlc_llm.compiler.library import build_module
from mlc_llm.compiler.shards import divided
from mlc_llm.errors import UnsupportedError

IDS = [int(i) for i in np.random.RandomState(3).randint(0, 128, 24)]
ALWAYS = ("qwen2",)  # biases, and a head of its own


def shards_of(family: str, config: dict[str, Any], count: int, scheme: str = "q0f32") -> Any:
    chat = {**config, "quantization": scheme, "prefill_chunk_size": 64}
    spec = library_spec(chat, device="cpu", overrides=f"tensor_parallel_shards={count}")
    module = quick_code.build(build_module(spec, models.get(family)), spec.device)
    weights = tiny_families.weights(config)
    stored = tiny_families.converted(tiny_families.Source(weights), config, scheme)
    return ShardRunners(module, stored, num_pages=16)


@pytest.mark.parametrize("family", ["qwen2", "qwen3", "gemma2", "gemma3_text", "phi3", "granite"])
def test_shards_make_the_logits_of_the_model(family, request):
    if family not in ALWAYS and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each family; run with --long")
    config = tiny_families.config(family) | {"num_key_value_heads": 2}
    expected = reference_decoder.logits(config, tiny_families.weights(config), IDS)
    made = shards_of(family, config, 2).forward([("a", IDS)])
    assert np.abs(made - expected).max() < 1e-4 * np.abs(expected).max()


LLAMA_1B = {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
            "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
            "vocab_size": 128256, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5,
            "rope_theta": 500000.0, "tie_word_embeddings": True, "hidden_act": "silu",
            "model_type": "llama", "architectures": ["LlamaForCausalLM"]}  # fmt: skip


@pytest.mark.parametrize("scheme", ["q4f16_1", "gguf_q4_0", "q0f16"])
@pytest.mark.parametrize("count", [2, 4, 8])
def test_a_shard_has_its_part_of_the_weights(scheme, count):
    config: Any = models.config_from_hf(LLAMA_1B)
    family, of_scheme = models.get("llama"), quantization.get(scheme)
    own, splits = divided(family, config, of_scheme, count)
    weights = family.weight_map(config)
    whole = sum(weight_bytes(weight, of_scheme, None) for weight in weights)
    part = sum(weight_bytes(weight, of_scheme, splits.get(weight.name)) for weight in weights)
    assert whole / count <= part < 1.02 * whole / count
    attention = own.layers[0].parts[0]
    assert (attention.heads, attention.kv_heads) == (32 // count, 8 // count)  # so are its pages


@pytest.mark.parametrize(
    ("family", "what"),
    [
        ("lfm2", "layers of the kind ShortConv"),
        ("deepseek_v2", "layers of the kind Latent"),
        ("bloom", "heads with ALiBi"),
        ("gemma4_text", "a model whose layers get more"),
        ("olmo2", "one norm for all"),
    ],
)
def test_what_is_not_divided_is_refused_by_name(family, what):
    config: Any = models.config_from_hf(load(family).config)
    with pytest.raises(UnsupportedError, match=f"shards 2: .*{what}.* use one shard") as found:
        divided(models.get(load(family).config["model_type"]), config, quantization.get("q0f32"), 2)
    assert found.value.param == "tensor_parallel_shards"


def test_a_group_of_weights_is_not_cut():
    config: Any = models.config_from_hf({**LLAMA_1B, "intermediate_size": 2080})
    with pytest.raises(UnsupportedError, match="down_proj.q_weight .*groups of weights together"):
        divided(models.get("llama"), config, quantization.get("q4f16_1"), 2)


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
