"""Every kernel in every instruction set, at random shapes, against NumPy float64.

A run takes a part of them, by lot but always the same; `--long` takes all, at several shapes.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest

pytest.importorskip("tvm")

import attention_cases  # noqa: E402
import kernel_cases  # noqa: E402
from kernel_cases import Case  # noqa: E402
from kernel_machines import MACHINES, Machine, run  # noqa: E402

CASES = {**kernel_cases.CASES, **attention_cases.CASES}


# What a short run takes for NEON's usual set, which has no other test: each kernel once.
ESSENTIAL = {
    "aarch64-dotprod": [
        *("linear_q0bf16", "linear_q4f16_1", "linear_Q5_K", "columns_q3f16_0", "columns_q4f16_0"),
        *("integer8_q4f16_1", "integer8_q8f32_1", "strips8_Q4_0", "strips8_Q4_K", "strips8_Q6_K"),
        *("embedding_q3f16_1", "embedding_Q4_K", "codes8_norm", "codes8_quantize", "rms_norm"),
        *("silu", "join", "attend_sinks", "attend_gemma", "append", "copy_pages"),
    ]
}
SHARE = 24  # one in so many, of the other sets


def drawn(name: str, machine: Machine, seed: int) -> Case:
    """Of one shape, whatever the machine."""
    return CASES[name](
        np.random.default_rng([zlib.crc32(name.encode()), seed]), machine.device.vectors
    )


def problem(case: Case) -> str | None:
    try:
        for call in case.calls:
            call.check()
    except AssertionError as error:
        return f"{case.name}: {error}"
    return None


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", list(MACHINES))
def test_kernels_equal_numpy(name, seed, request, tmp_path):
    machine, long = MACHINES[name], request.config.getoption("--long")
    if reason := machine.missing():
        pytest.skip(reason)
    if seed and not long:
        pytest.skip("other shapes; run with --long")
    some = ESSENTIAL.get(name, list(CASES)[list(MACHINES).index(name) :: SHARE])
    cases = [drawn(case, machine, seed) for case in (CASES if long else some)]
    run(machine, cases, tmp_path)
    assert [text for case in cases if (text := problem(case))] == []
