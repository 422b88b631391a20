"""Heads whose size is no multiple of the kernels' vectors: open_llama_3b has 100, Danube 3 has 120.

They get zeros behind, in the cache alone: weights stay as files have them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("tvm")

import gpu_tools  # noqa: E402
import kernel_tools  # noqa: E402
import quick_code  # noqa: E402
from family_fixtures import Fixture, load  # noqa: E402
from kernel_tools import frozen  # noqa: E402
from random_weights import draw  # noqa: E402  (its folder is in the path since family_fixtures)
from vm_runner import Runner  # noqa: E402

from mlc_llm.compiler import models, reference  # noqa: E402
from mlc_llm.compiler.compile import library_spec  # noqa: E402
from mlc_llm.compiler.kernels.common.values import LANES  # noqa: E402
from mlc_llm.compiler.kernels.cpu import elementwise  # noqa: E402
from mlc_llm.compiler.kernels.gpu import elementwise as gpu_elementwise  # noqa: E402
from mlc_llm.compiler.models.config import VECTOR  # noqa: E402
from mlc_llm.errors import UnsupportedError  # noqa: E402


def with_heads_of(size: int, layers: int) -> Fixture:
    """A tiny Llama of 4 heads, 2 of keys."""
    base = load("llama_linear")
    config = {**base.config, "head_dim": size, "num_hidden_layers": layers}
    made = replace(base, config=config)
    shapes = {part.tensor: part.source_shape for w in made.family.weight_map(made.typed)
              for part in w.parts}  # fmt: skip
    made.__dict__["weights"] = draw(shapes, seed=3, norm_mean=1)
    return made


@pytest.mark.parametrize(
    ("size", "cache"), [(100, "f32"), pytest.param(18, "f32", marks=gpu_tools.LONG), (120, "q8")]
)
def test_a_model_with_such_heads_gives_the_logits_of_numpy(size, cache):
    made = with_heads_of(size, layers=2)
    chat = {**made.config, "quantization": "q0f32", "prefill_chunk_size": 64}
    spec = library_spec(chat, device="cpu", kv_cache_dtype=cache)
    module = quick_code.build(spec, made.family)
    whole = Runner(module, made.params(), num_pages=8).forward([("a", made.ids)])
    expected = reference.logits(made.spec, made.params(), made.ids)
    apart = np.abs(whole - expected) / np.abs(expected).max()
    assert apart.max() < 1e-4 if cache == "f32" else apart.mean() < 0.02  # codes of 8 bits
    steps, cut = Runner(module, made.params(), num_pages=8), 9
    rows = [steps.forward([("a", part)]) for part in (made.ids[:cut], made.ids[cut:])]
    assert np.array_equal(np.concatenate(rows), whole)


def compiled_for(device):
    if device == "cpu":
        return lambda wanted: kernel_tools.compiled(elementwise.resize_heads(3, 20, wanted))
    gpu_tools.require(device)
    return lambda wanted: gpu_tools.compiled(
        gpu_elementwise.resize_heads(3, 20, wanted), backend=device
    )


@pytest.mark.parametrize("device", ["cpu", *gpu_tools.BACKENDS])
def test_heads_get_zeros_behind_or_are_cut(device):
    x = np.random.default_rng(1).standard_normal((5, 60)).astype(np.float32)
    for wanted in (32, 16):
        y = np.ones((5, 3 * wanted), np.float32)
        compiled_for(device)(wanted)(frozen(x), y)
        expected = np.pad(x.reshape(5, 3, 20), ((0, 0), (0, 0), (0, 12)))[..., :wanted]
        assert np.array_equal(y.reshape(5, 3, wanted), expected)


@pytest.mark.parametrize(
    ("fixture", "field"),
    [("qwen3", "head_dim"), ("deepseek_v3", "kv_lora_rank"), ("minicpm3", "qk_rope_head_dim")],
)
def test_what_has_no_kernel_is_refused_before_a_weight_is_read(fixture, field):
    assert VECTOR == LANES
    base = load(fixture)
    config = {**base.config, field: 40}
    with pytest.raises(UnsupportedError, match=f"{field} 40 is not a multiple of 16") as caught:
        base.family.weight_map(models.config_from_hf(config))
    assert caught.value.param == field
