"""Every kernel in every instruction set, at random shapes, against NumPy float64.

A run takes a part of them, by lot but always the same; `--long` takes all.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest

pytest.importorskip("tvm")

import attention_cases  # noqa: E402
import kernel_cases  # noqa: E402
import patch_cases  # noqa: E402
from activation_codes import decoded, encoded  # noqa: E402
from kernel_cases import Case  # noqa: E402
from kernel_machines import MACHINES, Machine, run  # noqa: E402
from kernel_tools import compiled, frozen, host_device, matrix_of, taken  # noqa: E402

from mlc_llm.compiler import quantization  # noqa: E402
from mlc_llm.compiler.kernels.cpu import elementwise, linear_strips  # noqa: E402
from mlc_llm.compiler.quantization.pack import dequantize_rows  # noqa: E402

CASES = {**kernel_cases.CASES, **attention_cases.CASES, **patch_cases.CASES}


# What a short run takes for NEON's usual set, which has no other test: each kernel once.
ESSENTIAL = {
    "aarch64-dotprod": [
        *("linear_q0bf16", "linear_q4f16_1", "linear_Q5_K", "columns_q3f16_0"),
        *("integer8_q3f16_1", "integer8_q4f16_1", "integer8_q8f32_1"),
        *("strips8_Q4_0", "strips8_Q4_K", "strips8_Q6_K"),
        *("embedding_q3f16_1", "embedding_Q4_K", "codes8_norm", "codes8_quantize", "rms_norm"),
        *(
            "panels_float16",
            "patches_72",
            "silu",
            "join",
            "attend_sinks",
            "attend_gemma",
            "append",
            "copy_pages",
            "copy_slots",
        ),
        *("gemma_down", "gemma_norm", "attend_q8", "append_q8"),
    ]
}
SHARE = 36  # one in so many, of the other sets
SLOW = {  # LLVM takes seconds for each
    "portable": ("integer16_q8f32_1", "integer16_q4f32_1", "strips8_Q6_K"),
    "wasm": ("strips8_Q2_K",),
}
ALSO = {
    # float16 without instructions for it
    "x86-64-v2": [
        "attend_sinks",
        "append",
        "attend_q8",
        "strips16_Q4_1",
        "words_72",
        "integer7_q8f32_1",
    ],
    "portable": ["append", "integer8_q4f16_1"],
    "wasm": [
        "strips16_Q4_1",
        "strips8_Q4_0",
        "integer16_q4f16_1",
        "codes16_norm",
        "words_72",
        "integer7_q8f32_1",
    ],
    # Keys and queries of 8 bits, by the other instructions that multiply bytes.
    **dict.fromkeys(("x86-64-v4-vnni", "aarch64-i8mm"), ["attend_q8"]),
    # weights of towers as whole numbers, and their attention
    "x86-64-v3": ["attend_q8", "integer7_q8f32_1", "words_72"],
}


def drawn(name: str, machine: Machine) -> Case:
    """Each machine has other shapes."""
    words = f"{machine.device.name} {name}"
    return CASES[name](np.random.default_rng(zlib.crc32(words.encode())), machine.device.vectors)


def problem(case: Case) -> str | None:
    try:
        for call in case.calls:
            call.check()
    except AssertionError as error:
        return f"{case.name}: {error}"
    return None


@pytest.mark.parametrize("name", list(MACHINES))
def test_kernels_equal_numpy(name, request, tmp_path):
    machine = MACHINES[name]
    if name == "x86-64-v2" and not request.config.getoption("--long"):
        pytest.skip("test_linked_library.py runs a whole library of it; run with --long")
    if reason := machine.missing():
        pytest.skip(reason)
    found = []
    for number, part in enumerate(parts(name, long=request.config.getoption("--long"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        cases = [drawn(case, machine) for case in part]
        run(machine, cases, folder)
        found += [text for case in cases if (text := problem(case))]
    assert found == []


def parts(name: str, long: bool) -> list[list[str]]:
    """Names of cases, what one library and one process take together."""
    shares = [list(CASES)[first::SHARE] for first in range(SHARE)]
    if long:
        return shares
    own = [c for c in shares[list(MACHINES).index(name)] if c not in SLOW.get(name, ())]
    return [list(dict.fromkeys(ESSENTIAL.get(name, [*own, *ALSO.get(name, [])])))]


def test_a_table_of_262144_entries(request):
    """Gemma's, as embedding and as output layer; checked at some entries, the last ones too."""
    if not request.config.getoption("--long"):
        pytest.skip("94 MB of weights; run with --long")
    scheme, shape = quantization.get("q4f16_1"), (262_144, 640)
    rng, unit = np.random.default_rng(0), host_device().vectors
    words = rng.integers(0, 1 << 32, (shape[0], 80), dtype=np.uint32)
    scales = rng.standard_normal((shape[0], 20)).astype(np.float16)
    picked = np.concatenate([rng.integers(0, shape[0], 500), np.arange(shape[0] - 40, shape[0])])
    rows = words[picked], scales[picked].astype(np.float32)
    meaning = dequantize_rows(*rows, columns=640, bits=4, group_size=32).astype(np.float64)
    reader = matrix_of(scheme, shape, "tied_embedding").on_cpu().rows
    stored = [frozen(array) for array in taken(reader, [words, scales])]

    found = np.zeros((len(picked), 640), np.float32)
    ids = frozen(picked.astype(np.int32))
    compiled(elementwise.embedding(reader, shape))(ids, *stored, found)
    np.testing.assert_allclose(found, meaning, rtol=3e-7)

    codes = linear_strips.codes_for(reader.kind, 640, 8)
    tools = {"unit": unit.dot, "tile": unit.integer_tile}
    kernel = compiled(linear_strips.linear_strips(codes, reader, **tools))
    x = encoded(codes, rng.standard_normal((9, 640)).astype(np.float32))
    for count in (1, 9):
        y = np.zeros((count, shape[0]), np.float32)
        kernel(frozen(x[:count]), *stored, y)
        kernel_cases.close(decoded(codes, x[:count]) @ meaning.T, 2e-6)(y[:, picked])
