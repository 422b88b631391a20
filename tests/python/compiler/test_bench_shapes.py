"""The random models of `./dev bench shapes`."""

from __future__ import annotations

import sys
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf.quants import dequantize

from mlc_llm.compiler import models
from mlc_llm.compiler.convert.gguf import GGUFModel

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from cpu_parts import shapes  # noqa: E402


@pytest.mark.parametrize(
    ("name", "kind"),
    [("tiny", "Q4_0"), ("tiny-MTP", "Q4_0"), ("tiny", "Q4_K_M"), ("tiny-MoE", "Q6_K")],
)
def test_a_file_is_a_model_and_always_the_same(name, kind, tmp_path):
    shape = shapes.SHAPES[name]
    path = shapes.write(tmp_path / "a.gguf", shape, kind)
    assert shapes.write(tmp_path / "b.gguf", shape, kind).read_bytes() == path.read_bytes()
    model = GGUFModel(path)
    config = models.config_from_hf(model.hf_config())
    assert (config.hidden_size, config.vocab_size) == (shape.hidden, shape.vocabulary)
    assert getattr(config, "num_experts", 0) == shape.experts + shape.mtp  # which none of it uses
    assert config.num_mtp_layers == shape.mtp
    family = models.get(models.model_type_of(model.hf_config()))
    found = {part.tensor for w in family.weight_map(config, "gguf") for part in w.parts}
    assert found == set(dict(shapes._tensors(shape)))


def test_the_large_shapes_are_what_they_say():
    sizes = {}
    for name in ("1B", "MoE"):
        shape, total = shapes.SHAPES[name], 0
        for _, size in shapes._tensors(shape):
            count = 1
            for extent in size:
                count *= extent
            total += count
        sizes[name] = total
    assert 1.2e9 < sizes["1B"] < 1.3e9
    assert 6.9e9 < sizes["MoE"] < 7.3e9


def test_a_token_reads_the_chosen_experts_and_the_head():
    """Q4_0 has 18 bytes for 32 weights."""
    attention = 2048 * (2048 + 1024 + 1024 + 2048)
    experts = 2 * 3 * 2048 * 5632 + 8 * 2048  # and the router
    weights = 24 * (attention + experts) + 32000 * 2048
    norms = 4 * (2 * 24 + 1) * 2048
    assert shapes.bytes_per_token(shapes.SHAPES["MoE"]) == weights // 32 * 18 + norms
    tied = shapes.SHAPES["1B"]
    weights = 16 * (2048 * (2 * 2048 + 2 * 512) + 3 * 2048 * 8192) + 128256 * 2048
    assert shapes.bytes_per_token(tied) == weights // 32 * 18 + 4 * (2 * 16 + 1) * 2048


def test_a_mix_has_the_types_of_llama_cpps(tmp_path):
    """Half of the 16 layers: 2 at the beginning, 2 at the end, and every third between them."""
    shape = shapes.SHAPES["1B"]
    kinds = {name: shapes._kind_of(name, shape, "Q4_K_M") for name in dict(shapes._tensors(shape))}
    larger = {name for name, kind in kinds.items() if kind == "Q6_K"}
    layers = [0, 1, 4, 7, 10, 13, 14, 15]
    expected = {f"blk.{i}.{name}.weight" for i in layers for name in ("attn_v", "ffn_down")}
    assert larger == {"token_embd.weight", *expected}
    sizes = shapes.bytes_per_token(shape, "Q4_K"), shapes.bytes_per_token(shape, "Q4_K_M")
    assert 1.1 < sizes[1] / sizes[0] < 1.2
    file = gguf.GGUFReader(shapes.write(tmp_path / "a.gguf", shapes.SHAPES["tiny"], "Q4_K_M"))
    assert {t.tensor_type.name for t in file.tensors} == {"F32", "Q4_K", "Q6_K"}


@pytest.mark.parametrize("kind", shapes._HALVES)
def test_weights_keep_the_size_of_what_they_multiply(kind):
    blocks = shapes._blocks(np.random.default_rng(3), (64, 512), kind)
    weights = dequantize(blocks, gguf.GGMLQuantizationType[kind])
    assert weights.shape == (64, 512)
    assert abs(weights.std() * 512**0.5 - 1) < 0.1
    assert abs(weights.mean() * 512**0.5) < 0.2
