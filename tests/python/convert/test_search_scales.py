"""Searched scales: the same format as MLC-LLM's rounding, with less error."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_models

from mlc_llm.cli import main
from mlc_llm.compiler.convert import open_source, write_weights
from mlc_llm.compiler.quantization.pack import dequantize_rows, numpy_dtype, quantize_rows
from mlc_llm.compiler.quantization.search import search_rows
from mlc_llm.errors import UnsupportedError

KINDS = [(4, 32, "float32"), (4, 32, "float16"), (4, 32, "bfloat16"), (3, 40, "float16")]


def errors(weight, quantize, bits, size, dtype):
    """Squared errors of each group."""
    words, scales = quantize(weight, bits=bits, group_size=size, dtype=dtype)
    columns = weight.shape[1]
    back = dequantize_rows(
        words, scales.astype(np.float32), bits=bits, group_size=size, columns=columns
    )
    exact = weight.astype(numpy_dtype(dtype)).astype(np.float32)
    wrong = np.pad((back - exact) ** 2, ((0, 0), (0, -columns % size)))
    return wrong.reshape(len(weight), -1, size).sum(-1)


@pytest.mark.parametrize(("bits", "size", "dtype"), KINDS)
def test_weights_lose_less(bits, size, dtype):
    weight = np.random.RandomState(0).standard_normal((64, 7 * size + 5)).astype(np.float32)
    plain = errors(weight, quantize_rows, bits, size, dtype)
    ours = errors(weight, search_rows, bits, size, dtype)
    assert ours.sum() < plain.sum() * (0.75 if bits == 4 else 0.65)
    assert (ours <= plain * 1.0001).mean() > 0.95  # by group


def test_rows_do_not_depend_on_one_another():
    weight = np.random.RandomState(1).standard_normal((9, 96)).astype(np.float32)
    whole = search_rows(weight, bits=4, group_size=32, dtype="float16")
    parts = [search_rows(row[None], bits=4, group_size=32, dtype="float16") for row in weight]
    for index in (0, 1):
        assert np.array_equal(whole[index], np.concatenate([part[index] for part in parts]))


def test_groups_of_zeros_and_of_one_value_are_exact():
    weight = np.zeros((2, 64), np.float32)
    weight[0, 3] = -2.5
    weight[1, 32:] = 0.75
    assert errors(weight, search_rows, 4, 32, "float32").max() < 1e-12


def test_the_command_writes_less_error(tmp_path, capsys):
    folder = tiny_models.write_hf_folder(tmp_path / "hf", tiny_models.random_weights())
    options = ["--quantization", "q4f16_1", "--quiet", "-o"]
    for name, flags in (("plain", []), ("searched", ["--search-scales"])):
        assert not main(["convert_weight", str(folder), *options, str(tmp_path / name), *flags])
    files = [sorted((tmp_path / n).glob("*")) for n in ("plain", "searched")]
    assert [f.name for f in files[0]] == [f.name for f in files[1]]
    assert [f.stat().st_size for f in files[0]] == [f.stat().st_size for f in files[1]]
    shards = [[f.read_bytes() for f in side if f.suffix == ".bin"] for side in files]
    assert shards[0] != shards[1]
    capsys.readouterr()


@pytest.mark.parametrize("scheme", ["q0f32", "q8f32_1", "e5m2_e5m2_f16"])
def test_a_scheme_without_such_scales_is_refused(scheme, tmp_path):
    folder = tiny_models.write_hf_folder(tmp_path / "hf", tiny_models.random_weights())
    with pytest.raises(UnsupportedError, match=f"{scheme} has no scales to search; q3f16_0"):
        write_weights(
            open_source(folder), tmp_path / "out", quantization=scheme, search_scales=True
        )
