"""Repositories that are quantized already: their weights as floats, one element at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tiny_models

from mlc_llm.compiler.convert import convert_model, notes, open_source
from mlc_llm.compiler.convert.verify import verify
from mlc_llm.errors import CorruptFileError, InvalidRequestError, UnsupportedError

Array = np.ndarray[Any, Any]
Module = tuple[dict[str, Array], Array]  # tensors by suffix, and what they mean (out, in)


def rng_of(name: str) -> np.random.Generator:
    return np.random.default_rng(sum(name.encode()))


def packed(codes: Array, bits: int) -> Array:
    """int32 words of codes along the last axis, lowest bits first, padded with zeros."""
    per_word = 32 // bits
    words = np.zeros((*codes.shape[:-1], -(-codes.shape[-1] // per_word)), np.int64)
    for index in np.ndindex(codes.shape):
        *rest, last = index
        words[(*rest, last // per_word)] |= int(codes[index]) << bits * (last % per_word)
    return words.astype(np.uint32).view(np.int32)


def gptq(
    name: str, shape: tuple[int, int], bits: int, group: int, *, acts: bool, v2: bool
) -> Module:
    rng, (outs, ins) = rng_of(name), shape
    groups = -(-ins // group)
    most = 1 << bits
    codes, zeros = rng.integers(0, most, (ins, outs)), rng.integers(1, most, (groups, outs))
    scales = (rng.random((groups, outs)) * 0.02 + 0.001).astype(np.float16)
    indices = np.arange(ins) // group
    if acts:
        rng.shuffle(indices)
    meaning = np.empty(shape, np.float32)
    for out, column in np.ndindex(shape):
        g = indices[column]
        meaning[out, column] = np.float32(scales[g, out]) * (codes[column, out] - zeros[g, out])
    tensors = {
        "qweight": np.ascontiguousarray(packed(codes.T, bits).T),
        "qzeros": packed(zeros - (0 if v2 else 1), bits),
        "scales": scales,
    }
    return tensors | ({"g_idx": indices.astype(np.int32)} if acts else {}), meaning


def awq(name: str, shape: tuple[int, int], group: int) -> Module:
    rng, (outs, ins) = rng_of(name), shape
    order = [0, 4, 1, 5, 2, 6, 3, 7]  # nibble of output 8 w + j
    codes, zeros = rng.integers(0, 16, (ins, outs)), rng.integers(0, 16, (ins // group, outs))
    scales = (rng.random((ins // group, outs)) * 0.02 + 0.001).astype(np.float16)

    def words(values: Array) -> Array:
        made = np.zeros((len(values), outs // 8), np.int64)
        for row, out in np.ndindex(values.shape):
            made[row, out // 8] |= int(values[row, out]) << 4 * order[out % 8]
        return made.astype(np.uint32).view(np.int32)

    spread = np.repeat(scales.astype(np.float32), group, axis=0)
    meaning = ((codes - np.repeat(zeros, group, axis=0)) * spread).T.astype(np.float32)
    return {"qweight": words(codes), "qzeros": words(zeros), "scales": scales}, meaning


def fp8(name: str, shape: tuple[int, int], scales: str) -> Module:
    rng, (outs, ins) = rng_of(name), shape
    weight = rng.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn)
    sizes = {"tensor": (1,), "row": (outs, 1), "block": (-(-outs // 16), -(-ins // 24))}
    scale = (rng.random(sizes[scales]) + 0.5).astype(np.float32)
    meaning = np.empty(shape, np.float32)
    for out, column in np.ndindex(shape):
        places = {"tensor": 0, "row": (out, 0), "block": (out // 16, column // 24)}
        meaning[out, column] = np.float32(weight[out, column]) * scale[places[scales]]
    suffix = "weight_scale_inv" if scales == "block" else "weight_scale"
    return {"weight": weight, suffix: scale}, meaning


def compressed_int4(name: str, shape: tuple[int, int], *, asymmetric: bool, acts: bool) -> Module:
    rng, (outs, ins), group = rng_of(name), shape, 32
    codes = rng.integers(-8, 8, shape)
    groups = -(-ins // group)
    zeros = rng.integers(-8, 8, (outs, groups)) if asymmetric else np.zeros((outs, groups), int)
    scale = (rng.random((outs, groups)) * 0.02 + 0.001).astype(np.float16)
    indices = np.arange(ins) // group
    if acts:
        rng.shuffle(indices)
    meaning = np.empty(shape, np.float32)
    for out, column in np.ndindex(shape):
        g = indices[column]
        meaning[out, column] = np.float32(scale[out, g]) * (codes[out, column] - zeros[out, g])
    tensors = {
        "weight_packed": packed(codes + 8, 4),
        "weight_scale": scale,
        "weight_shape": np.array(shape, np.int64),
    }
    if asymmetric:
        tensors["weight_zero_point"] = np.ascontiguousarray(packed((zeros + 8).T, 4).T)
    return tensors | ({"weight_g_idx": indices.astype(np.int32)} if acts else {}), meaning


def compressed_int8(name: str, shape: tuple[int, int]) -> Module:
    rng = rng_of(name)
    codes = rng.integers(-128, 128, shape).astype(np.int8)
    zeros = rng.integers(-9, 9, (shape[0], 1)).astype(np.int8)
    scale = (rng.random((shape[0], 1)) * 0.02).astype(np.float32)
    meaning = (codes.astype(np.float32) - zeros) * scale
    return {"weight": codes, "weight_scale": scale, "weight_zero_point": zeros}, meaning


def bitsandbytes_int8(name: str, shape: tuple[int, int]) -> Module:
    rng = rng_of(name)
    codes = rng.integers(-127, 128, shape).astype(np.int8)
    rows = rng.random(shape[0]).astype(np.float32)
    return {"weight": codes, "SCB": rows}, codes * (rows / np.float32(127))[:, None]


def bitsandbytes_nf4(name: str, shape: tuple[int, int], *, nested: bool) -> Module:
    rng, block, nested_block = rng_of(name), 64, 8
    codes = rng.integers(0, 16, shape).reshape(-1)
    table = np.sort(rng.uniform(-1, 1, 16)).astype(np.float32)
    blocks = -(-codes.size // block)
    state: dict[str, Any] = {"shape": shape, "blocksize": block, "dtype": "float16"}
    tensors = {"weight": (codes[0::2] << 4 | codes[1::2]).astype(np.uint8)[:, None]}
    tensors["weight.quant_map"] = table
    if nested:
        stored = rng.integers(0, 256, blocks).astype(np.uint8)
        values = rng.uniform(-1, 1, 256).astype(np.float32)
        outer = rng.random(-(-blocks // nested_block)).astype(np.float32)
        state |= {"nested_blocksize": nested_block, "nested_offset": 0.25}
        tensors |= {"weight.absmax": stored, "weight.nested_quant_map": values}
        tensors["weight.nested_absmax"] = outer
        largest = np.array(
            [values[stored[i]] * outer[i // nested_block] + 0.25 for i in range(blocks)], np.float32
        )
    else:
        tensors["weight.absmax"] = largest = rng.random(blocks).astype(np.float32)
    text = np.frombuffer(json.dumps(state).encode(), np.uint8)
    tensors["weight.quant_state.bitsandbytes__nf4"] = text
    meaning = [table[code] * largest[i // block] for i, code in enumerate(codes)]
    return tensors, np.array(meaning, np.float32).reshape(shape)


GPTQ = {"quant_method": "gptq"}
PACKED = {"quant_method": "compressed-tensors", "format": "pack-quantized"}
NAIVE = {"quant_method": "compressed-tensors", "format": "int-quantized"}
BITSANDBYTES = {"quant_method": "bitsandbytes"}
BLOCKS = {"quant_method": "fp8", "weight_block_size": [16, 24]}
REPOSITORIES: dict[str, tuple[dict[str, Any], Callable[[str, tuple[int, int]], Module]]] = {
    "gptq-4": (GPTQ | {"bits": 4}, lambda n, s: gptq(n, s, 4, 32, acts=False, v2=False)),
    "gptq-4-acts": (GPTQ | {"bits": 4}, lambda n, s: gptq(n, s, 4, 32, acts=True, v2=False)),
    "gptq-8-v2": (
        GPTQ | {"bits": 8, "checkpoint_format": "gptq_v2"},
        lambda n, s: gptq(n, s, 8, 16, acts=False, v2=True),
    ),
    "gptq-2-rows": (GPTQ | {"bits": 2}, lambda n, s: gptq(n, s, 2, s[1], acts=False, v2=False)),
    "awq": ({"quant_method": "awq", "bits": 4}, lambda n, s: awq(n, s, 32)),
    "fp8-tensor": ({"quant_method": "modelopt"}, lambda n, s: fp8(n, s, "tensor")),
    "fp8-rows": ({"quant_method": "fbgemm_fp8"}, lambda n, s: fp8(n, s, "row")),
    "fp8-blocks": (BLOCKS, lambda n, s: fp8(n, s, "block")),
    "int4": (PACKED, lambda n, s: compressed_int4(n, s, asymmetric=False, acts=False)),
    "int4-zeros": (PACKED, lambda n, s: compressed_int4(n, s, asymmetric=True, acts=True)),
    "int8": (NAIVE, compressed_int8),
    "bitsandbytes-8": (BITSANDBYTES, bitsandbytes_int8),
    "nf4": (BITSANDBYTES, lambda n, s: bitsandbytes_nf4(n, s, nested=False)),
    "nf4-nested": (BITSANDBYTES, lambda n, s: bitsandbytes_nf4(n, s, nested=True)),
}


def write_repository(folder: Path, kind: str, **changes: Array | None) -> dict[str, Array]:
    """A tiny Llama whose linear layers are quantized; returns all its weights as floats."""
    config, make = REPOSITORIES[kind]
    tensors: dict[str, Array] = {}
    meaning: dict[str, Array] = {}
    for name, (_, shape) in tiny_models.names().items():
        if len(shape) == 1 or "embed" in name or "lm_head" in name:
            tensors[name] = meaning[name] = rng_of(name).standard_normal(shape, np.float32)
            continue
        module = name.removesuffix(".weight")
        stored, meaning[name] = make(name, (shape[0], shape[1]))
        tensors |= {f"{module}.{suffix}": value for suffix, value in stored.items()}
    tensors |= changes  # type: ignore[arg-type]
    present = {name: value for name, value in tensors.items() if value is not None}
    tiny_models.write_hf_folder(folder, present, quantization_config=config)
    return meaning


@pytest.mark.parametrize("kind", REPOSITORIES)
def test_weights_are_what_the_method_says(kind: str, tmp_path: Path) -> None:
    meaning = write_repository(tmp_path / "hf", kind)
    source = open_source(tmp_path / "hf")
    assert {name: source.tensors()[name].shape for name in meaning} == {
        name: value.shape for name, value in meaning.items()
    }
    for name, value in meaning.items():
        np.testing.assert_allclose(source.read(name), value, rtol=1e-6, atol=1e-7)
        if value.ndim == 2:  # a part that begins and ends inside of a word
            np.testing.assert_array_equal(source.read(name, 3, 13), source.read(name)[3:13])


@pytest.mark.parametrize("kind", REPOSITORIES)
def test_a_repository_converts_as_its_floats_do(kind: str, tmp_path: Path) -> None:
    write_repository(tmp_path / "hf", kind)
    source = open_source(tmp_path / "hf")
    floats = {name: source.read(name) for name in tiny_models.names()}
    tiny_models.write_hf_folder(tmp_path / "floats", floats)
    for folder in ("hf", "floats"):
        convert_model(
            open_source(tmp_path / folder), tmp_path / f"{folder}-MLC", quantization="q4f32_1"
        )
    assert verify(tmp_path / "hf-MLC") == []
    ours, theirs = (tiny_models.read_mlc_folder(tmp_path / f"{n}-MLC") for n in ("hf", "floats"))
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_a_user_is_told_that_weights_are_quantized_again(tmp_path: Path) -> None:
    write_repository(tmp_path / "hf", "gptq-4")
    (note,) = notes(open_source(tmp_path / "hf"), "q4f32_1")
    assert note is not None and "gptq" in note and "q4f32_1" in note
    floats = tiny_models.write_hf_folder(tmp_path / "floats", tiny_models.random_weights())
    assert notes(open_source(floats), "q4f32_1") == []


def test_the_source_format_awq_is_for_awq(tmp_path: Path) -> None:
    write_repository(tmp_path / "awq", "awq")
    open_source(tmp_path / "awq", source_format="awq")
    write_repository(tmp_path / "gptq", "gptq-4")
    with pytest.raises(InvalidRequestError, match="names no AWQ"):
        open_source(tmp_path / "gptq", source_format="awq")


_Q = "model.layers.0.self_attn.q_proj"


@pytest.mark.parametrize(
    ("kind", "changes", "tensor"),
    [
        ("gptq-4", {f"{_Q}.qzeros": None}, f"{_Q}.qzeros"),
        ("gptq-4", {f"{_Q}.qzeros": np.zeros((2, 9), np.int32)}, f"{_Q}.qzeros"),
        ("gptq-4", {f"{_Q}.qweight": np.zeros((8, 64), np.float32)}, f"{_Q}.qweight"),
        ("gptq-4-acts", {f"{_Q}.g_idx": np.full(64, 2, np.int32)}, f"{_Q}.g_idx"),
        ("gptq-4-acts", {f"{_Q}.g_idx": np.zeros(64, np.float32)}, f"{_Q}.g_idx"),
        ("gptq-8-v2", {f"{_Q}.scales": np.ones((3, 64), np.float16)}, f"{_Q}.qzeros"),
        ("gptq-2-rows", {f"{_Q}.scales": None}, f"{_Q}.scales"),
        ("int8", {f"{_Q}.weight_scale": None}, f"{_Q}.weight"),
        ("int8", {f"{_Q}.weight_zero_point": np.zeros((9, 1), np.int8)}, "weight_zero_point"),
        ("bitsandbytes-8", {f"{_Q}.SCB": np.ones(9, np.float32)}, f"{_Q}.SCB"),
        ("fp8-rows", {f"{_Q}.weight_scale": np.ones((9, 1), np.float32)}, f"{_Q}.weight_scale"),
        ("fp8-tensor", {f"{_Q}.weight_scale": np.ones(3, np.float32)}, f"{_Q}.weight_scale"),
        ("awq", {f"{_Q}.scales": np.ones((3, 64), np.float16)}, f"{_Q}.qzeros"),
        ("fp8-blocks", {f"{_Q}.weight_scale_inv": None}, f"{_Q}.weight"),
        ("fp8-blocks", {f"{_Q}.weight_scale_inv": np.ones((2, 2), np.float32)}, "weight_scale_inv"),
        ("int4", {f"{_Q}.weight_shape": np.array([64, 65])}, f"{_Q}.weight_packed"),
        ("int4", {f"{_Q}.weight_shape": np.array([64, -1])}, f"{_Q}.weight_packed"),
        (
            "int4-zeros",
            {f"{_Q}.weight_zero_point": np.zeros((1, 2), np.int32)},
            "weight_zero_point",
        ),
        ("nf4", {f"{_Q}.weight.absmax": None}, f"{_Q}.weight.absmax"),
        (
            "nf4",
            {f"{_Q}.weight.quant_state.bitsandbytes__nf4": np.frombuffer(b"[1]", np.uint8)},
            "quant_state",
        ),
    ],
)
def test_a_damaged_repository_is_refused_by_tensor(
    kind: str, changes: dict[str, Any], tensor: str, tmp_path: Path
) -> None:
    write_repository(tmp_path / "hf", kind, **changes)
    with pytest.raises(CorruptFileError) as caught:
        convert_model(open_source(tmp_path / "hf"), tmp_path / "out", quantization="q4f32_1")
    assert tensor in caught.value.param


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"quant_method": "aqlm"}, "'aqlm' cannot be read; known are awq, bitsandbytes"),
        ({"quant_method": "gptq", "bits": 3}, "GPTQ of 3 bits"),
        ({"quant_method": "awq", "version": "gemv"}, "version 'gemv'"),
    ],
)
def test_other_methods_are_refused(config: dict[str, Any], words: str, tmp_path: Path) -> None:
    folder = tiny_models.write_hf_folder(
        tmp_path, tiny_models.random_weights(), quantization_config=config
    )
    with pytest.raises(UnsupportedError, match=words) as caught:
        open_source(folder).tensors()
    assert caught.value.param == "quantization_config"


def test_codes_of_stacked_experts_are_no_floats(tmp_path: Path) -> None:
    """Llama 4's FP8 repository has `gate_up_proj` and `gate_up_proj_scale`, without `.weight`."""
    name = "model.layers.0.mlp.experts.gate_up_proj"
    codes = np.ones((2, 64, 32), ml_dtypes.float8_e4m3fn)
    write_repository(tmp_path / "hf", "fp8-blocks", **{name: codes})
    with pytest.raises(UnsupportedError, match="has type F8_E4M3") as caught:
        open_source(tmp_path / "hf").read(name)
    assert caught.value.param == name


def test_packed_floats_are_refused(tmp_path: Path) -> None:
    name = f"{_Q}.weight_packed"
    write_repository(tmp_path, "int4", **{name: np.zeros((64, 32), np.uint8)})
    with pytest.raises(UnsupportedError, match="cannot be read"):
        open_source(tmp_path).tensors()
