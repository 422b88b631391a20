"""Floats of 8 bits: stored tensors against a definition of their own, one value at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tiny_models

from mlc_llm.compiler import quantization
from mlc_llm.compiler.convert import convert_model, open_source
from mlc_llm.errors import CorruptFileError, UnsupportedError

Array = np.ndarray[Any, Any]
FORMATS = {  # bits of the fraction, the exponent's bias, the largest number
    "e4m3_e4m3_f16": (3, 7, 448.0),
    "e4m3_e4m3_f16_max_calibrate": (3, 7, 448.0),
    "e5m2_e5m2_f16": (2, 15, 57344.0),
}


def values(fraction: int, bias: int, largest: float) -> Array:
    """Those of codes 0, 1, 2, ... up to the largest; the sign is bit 7."""
    found = []
    for code in range(128):
        exponent, rest = code >> fraction, code % (1 << fraction) / (1 << fraction)
        value = (1 + rest) * 2.0 ** (exponent - bias) if exponent else rest * 2.0 ** (1 - bias)
        if value > largest:
            break
        found.append(value)
    return np.array(found)


def nearest(weights: Array, fraction: int, bias: int, largest: float) -> Array:
    """Codes; of two that are as near the even one."""
    table = values(fraction, bias, largest)
    distance = np.abs(np.abs(weights)[..., None] - table)
    smallest = distance == distance.min(-1, keepdims=True)
    even = smallest & (np.arange(len(table)) % 2 == 0)
    codes = np.where(even.any(-1), even.argmax(-1), smallest.argmax(-1))
    return (codes | np.signbit(weights).astype(np.int64) << 7).astype(np.uint8)


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_of_a_small_model(name: str, tmp_path: Any) -> None:
    weights = tiny_models.random_weights()
    folder = tiny_models.write_hf_folder(tmp_path / "hf", weights)
    convert_model(open_source(folder), tmp_path / "out", quantization=name)
    stored = tiny_models.read_mlc_folder(tmp_path / "out")
    module = "model.layers.1.mlp.down_proj"
    weight = weights[f"{module}.weight"].astype(np.float16).astype(np.float32)
    scale = np.float32(1)
    if name.startswith("e4m3"):
        scale = np.abs(weight).max() / np.float32(448)
        assert stored[f"{module}.q_scale"] == [scale]
    calibrated = name == "e4m3_e4m3_f16"
    assert (f"{module}.q_calibration_scale" in stored) == calibrated
    codes = nearest((weight / scale).astype(np.float64), *FORMATS[name])
    assert np.array_equal(stored[f"{module}.q_weight"].view(np.uint8), codes)
    assert stored["lm_head.weight"].dtype == np.float16


def test_zeros_have_the_smallest_scale(tmp_path: Any) -> None:
    weights = tiny_models.random_weights()
    weights["model.layers.0.mlp.down_proj.weight"][:] = 0
    folder = tiny_models.write_hf_folder(tmp_path / "hf", weights)
    convert_model(open_source(folder), tmp_path / "out", quantization="e4m3_e4m3_f16")
    stored = tiny_models.read_mlc_folder(tmp_path / "out")
    assert stored["model.layers.0.mlp.down_proj.q_scale"] == [np.float32(1 / (448 * 512))]
    assert not stored["model.layers.0.mlp.down_proj.q_weight"].view(np.uint8).any()


@pytest.mark.parametrize(("value", "error"), [(1e6, UnsupportedError), (np.nan, CorruptFileError)])
def test_values_that_do_not_fit_are_refused(value: float, error: Any, tmp_path: Any) -> None:
    weights = tiny_models.random_weights()
    weights["model.layers.0.mlp.down_proj.weight"][3, 4] = value
    folder = tiny_models.write_hf_folder(tmp_path / "hf", weights)
    with pytest.raises(error) as caught:
        convert_model(open_source(folder), tmp_path / "out", quantization="e5m2_e5m2_f16")
    assert caught.value.param == "model.layers.0.mlp.down_proj.weight"
    assert quantization.get("e5m2_e5m2_f16").model_dtype == "float16"
