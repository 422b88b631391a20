"""NVFP4: GGUF files with a factor for each weight, and repositories of compressed-tensors and
modelopt. What blocks mean without a factor is in test_gguf_schemes.py, by the `gguf` package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import ml_dtypes
import numpy as np
import pytest
import tiny_models
from gguf_random import exact, write_mixed
from test_gguf_schemes import in_halves, meaning

from mlc_llm.compiler.convert import convert_model, notes, open_source
from mlc_llm.compiler.convert.verify import verify
from mlc_llm.compiler.quantization.gguf.blocks import dequantized, read_blocks, strips_of
from mlc_llm.compiler.quantization.gguf.nvfp4 import wide_rows
from mlc_llm.compiler.quantization.gguf.types import TYPES
from mlc_llm.errors import CorruptFileError, UnsupportedError

Array = np.ndarray[Any, Any]
VALUES = [0, 0.5, 1, 1.5, 2, 3, 4, 6]  # of the codes 0 to 7; 8 is added to those of negative ones
_Q = "model.layers.0.self_attn.q_proj"
_DOWN = "model.layers.1.mlp.down_proj"
COMPRESSED = {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}
MODELOPT = {"quant_method": "modelopt", "quant_algo": "NVFP4"}


def module(name: str, shape: tuple[int, int], method: str) -> tuple[dict[str, Array], Array]:
    """The tensors of a linear layer, and what they mean, one weight at a time."""
    rng, (outs, ins) = np.random.default_rng(sum(name.encode())), shape
    codes = rng.integers(0, 16, shape).astype(np.uint8)
    scales = rng.uniform(0.01, 400, (outs, ins // 16)).astype(ml_dtypes.float8_e4m3fn)
    shared = np.float32(rng.uniform(500, 900))
    floats = np.empty(shape, np.float32)
    for row, column in np.ndindex(shape):
        code, scale = int(codes[row, column]), np.float32(scales[row, column // 16])
        value = np.float32(VALUES[code % 8] * (-1 if code > 7 else 1))
        whole = scale / shared if method == "compressed-tensors" else scale * (1 / shared)
        floats[row, column] = value * whole
    packed = codes[:, 0::2] | codes[:, 1::2] << 4
    if method == "modelopt":
        small = np.asarray(1 / shared, np.float32)
        return {"weight": packed, "weight_scale": scales, "weight_scale_2": small}, floats
    tensors = {"weight_packed": packed, "weight_scale": scales}
    return tensors | {"weight_global_scale": np.array([shared], np.float32)}, floats


def write_repository(folder: Path, config: dict[str, Any], **changes: Any) -> dict[str, Array]:
    tensors: dict[str, Array] = {}
    floats: dict[str, Array] = {}
    rng = np.random.default_rng(1)
    for name, (_, shape) in tiny_models.names().items():
        if len(shape) == 1 or "embed" in name or "lm_head" in name:
            tensors[name] = rng.standard_normal(shape).astype(ml_dtypes.bfloat16)
            floats[name] = tensors[name].astype(np.float32)
            continue
        owner = name.removesuffix(".weight")
        made, floats[name] = module(name, (shape[0], shape[1]), config["quant_method"])
        tensors |= {f"{owner}.{suffix}": np.asarray(value) for suffix, value in made.items()}
    tensors |= changes
    present = {name: value for name, value in tensors.items() if value is not None}
    tiny_models.write_hf_folder(folder, present, quantization_config=config)
    return floats


def converted(path: Path, output: Path, quantization: str = "auto") -> dict[str, Any]:
    convert_model(open_source(path), output, quantization=quantization)
    assert verify(output) == []
    found: dict[str, Any] = json.loads((output / "mlc-chat-config.json").read_text())
    return found


def same_bits(found: Array, expected: Array) -> bool:
    """But for the sign of zero, which NVFP4 has and our codes have not."""
    return np.array_equal((found + 0.0).view(np.uint32), (expected + 0.0).view(np.uint32))


def same(found: Array, expected: Array, method: str) -> bool:
    """Kept scales are multiplied; where the repository divides them, the last bit may differ."""
    if method == "modelopt":
        return same_bits(found, expected)
    return np.allclose(found, expected, rtol=2**-22, atol=0)


@pytest.mark.parametrize("config", [COMPRESSED, MODELOPT], ids=lambda c: c["quant_method"])
def test_a_repository_keeps_its_weights(config: dict[str, Any], tmp_path: Path) -> None:
    floats = write_repository(tmp_path / "hf", config)
    source = open_source(tmp_path / "hf")
    (wider,) = notes(source, "auto")
    assert "keep their values" in wider and "q4f32_1" in wider
    note = str(notes(source, "q4f32_1"))
    assert config["quant_method"] in note and "auto, which keeps them" in note
    for name, value in floats.items():
        assert same_bits(source.read(name).astype(np.float32), value), name
    made = converted(tmp_path / "hf", tmp_path / "out")
    assert made["quantization"] == "gguf_nvfp4"
    assert made["weight_types"]["lm_head.weight"] == [["BF16", tiny_models.VOCAB]]
    ours = meaning(tmp_path / "out", made)
    attention = "model.layers.1.self_attn"
    expected = [floats[f"{attention}.{part}_proj.weight"] for part in "qkv"]
    method = config["quant_method"]
    assert same(ours[f"{attention}.qkv_proj.weight"], np.concatenate(expected), method)
    assert same(ours[f"{_DOWN}.weight"], floats[f"{_DOWN}.weight"], method)
    assert same_bits(ours["lm_head.weight"], floats["lm_head.weight"])


def test_the_sign_of_a_scale_is_kept() -> None:
    codes = np.arange(32, dtype=np.uint8)[None] % 16
    scales = np.array([[-2.0, 0.5]], ml_dtypes.float8_e4m3fn)
    kind = TYPES["NVFP4"]
    rows = wide_rows(scales, codes, np.float32(3))
    found = dequantized(kind, strips_of(kind, read_blocks(kind, rows)), 1)
    values = [*VALUES, *(-value for value in VALUES)]
    assert np.array_equal(found[0], [v * -6.0 for v in values] + [v * 1.5 for v in values])


def test_modelopts_own_config_file_is_read(tmp_path: Path) -> None:
    floats = write_repository(tmp_path, MODELOPT)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    del config["quantization_config"]
    path.write_text(json.dumps(config))
    with pytest.raises(UnsupportedError):
        open_source(tmp_path).read(f"{_Q}.weight")
    (tmp_path / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "NVFP4"}}')
    assert same_bits(open_source(tmp_path).read(f"{_Q}.weight"), floats[f"{_Q}.weight"])


@pytest.mark.parametrize(
    ("changes", "tensor"),
    [
        ({f"{_Q}.weight_scale": None}, f"{_Q}.weight_scale"),
        ({f"{_Q}.weight_scale": np.ones((64, 3), ml_dtypes.float8_e4m3fn)}, f"{_Q}.weight_scale"),
        ({f"{_Q}.weight_scale": np.ones((64, 4), np.float32)}, f"{_Q}.weight_scale"),
        ({f"{_Q}.weight_global_scale": None}, f"{_Q}.weight_global_scale"),
        ({f"{_Q}.weight_global_scale": np.ones(2, np.float32)}, f"{_Q}.weight_global_scale"),
        ({f"{_Q}.weight_packed": np.zeros((64, 12), np.uint8)}, f"{_Q}.weight_packed"),
        ({f"{_DOWN}.weight_global_scale": np.zeros(1, np.float32)}, f"{_DOWN}.weight"),
        (
            {f"{_DOWN}.weight_scale": np.full((64, 6), np.nan, ml_dtypes.float8_e4m3fn)},
            f"{_DOWN}.weight",
        ),
    ],
)
def test_a_damaged_repository_is_refused_by_tensor(
    changes: dict[str, Any], tensor: str, tmp_path: Path
) -> None:
    write_repository(tmp_path / "hf", COMPRESSED, **changes)
    with pytest.raises(CorruptFileError) as caught:
        converted(tmp_path / "hf", tmp_path / "out")
    assert caught.value.param == tensor


FACTORS = {"blk.0.attn_q": 0.75, "blk.0.attn_v": 3.0, "blk.1.ffn_down": 0.1}


def write_gguf(path: Path, factors: dict[str, Any], *, default: str = "NVFP4") -> dict[str, Array]:
    """A file with factors beside some weights, as llama.cpp's converter writes them."""
    plain = path.with_name("plain.gguf")
    floats = write_mixed(plain, {}, default=default)
    reader, writer = gguf.GGUFReader(plain), gguf.GGUFWriter(path, "llama")
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            kind = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], kind)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    for name, factor in factors.items():
        writer.add_tensor(f"{name}.scale", np.atleast_1d(np.asarray(factor, np.float32)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return floats


def test_the_factors_of_a_gguf_file_count(tmp_path: Path) -> None:
    floats = write_gguf(tmp_path / "m.gguf", FACTORS)
    for name, factor in FACTORS.items():
        floats[f"{name}.weight"] = floats[f"{name}.weight"] * np.float32(factor)
    made = converted(tmp_path / "m.gguf", tmp_path / "out")
    ours = meaning(tmp_path / "out", made)
    converted(tmp_path / "m.gguf", tmp_path / "floats", "q0f32")
    plain = tiny_models.read_mlc_folder(tmp_path / "floats")
    q, k, v = (floats[f"blk.0.attn_{part}.weight"] for part in "qkv")
    qkv = np.concatenate([in_halves(q, 4), in_halves(k, 2), v])
    for found in (ours, plain):
        name = "model.layers.0.self_attn.qkv_proj.weight"
        np.testing.assert_allclose(found[name], qkv, rtol=3e-7, atol=0)
        down = found["model.layers.1.mlp.down_proj.weight"]
        np.testing.assert_allclose(down, floats["blk.1.ffn_down.weight"], rtol=3e-7, atol=0)
        up = found["model.layers.1.mlp.gate_up_proj.weight"][512:]
        assert np.array_equal(up, floats["blk.1.ffn_up.weight"])


def test_factors_of_another_shape_or_type_are_refused(tmp_path: Path) -> None:
    write_gguf(tmp_path / "m.gguf", {"blk.1.ffn_up": [1.0, 2.0]})
    with pytest.raises(CorruptFileError) as caught:
        converted(tmp_path / "m.gguf", tmp_path / "out")
    assert caught.value.param == "blk.1.ffn_up.scale"
    write_gguf(tmp_path / "m.gguf", {"blk.1.ffn_up": 2.0}, default="Q4_0")
    with pytest.raises(UnsupportedError, match="type Q4_0 and a factor") as refused:
        converted(tmp_path / "m.gguf", tmp_path / "out")
    assert refused.value.param == "blk.1.ffn_up.weight"
    write_gguf(tmp_path / "m.gguf", {"blk.1.ffn_up": np.inf})
    with pytest.raises(CorruptFileError, match="NaN or infinite"):
        converted(tmp_path / "m.gguf", tmp_path / "out")


def test_the_package_says_what_a_block_means() -> None:
    """Every scale with every code, those beyond the numbers too."""
    raw = np.zeros((256, 36), np.uint8)
    raw[:, :4] = np.arange(256, dtype=np.uint8)[:, None]
    raw[:, 4:] = np.arange(0, 256, 8, dtype=np.uint8) + np.arange(32, dtype=np.uint8) % 8
    kind = TYPES["NVFP4"]
    found = dequantized(kind, strips_of(kind, read_blocks(kind, raw)), len(raw))
    assert np.array_equal(found.view(np.uint32), exact("NVFP4", raw).view(np.uint32))
