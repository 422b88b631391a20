"""The instructions that products of bytes become, on each instruction set: in the assembly."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

pytest.importorskip("tvm")

import tvm  # noqa: E402
from kernel_cases import CASES  # noqa: E402

from mlc_llm.compiler import lowering, targets  # noqa: E402

# What there is of it, and what may not be there: instructions, and registers that need others.
MULTIPLIES = {
    "x86-64-v2": ("pmaddubsw", r"%ymm|%zmm|\bvp"),
    "x86-64-v3": ("vpmaddubsw", r"%zmm|vpdpbusd"),
    "x86-64-v3-vnni": ("vpdpbusd", r"%zmm|%k[0-7]|%[xy]mm(1[6-9]|2\d|3[01])|pmadd"),
    "x86-64-v4": ("vpmaddubsw", r"vpdpbusd"),
    "x86-64-v4-vnni": ("vpdpbusd", r"pmadd"),
    "aarch64": ("smlal", r"\b[su]+dot\b|mmla"),
    "aarch64-dotprod": ("sdot", r"\busdot\b|mmla|\bsmlal\b"),
    "aarch64-i8mm": ("usdot", r"\bsmlal\b|\bsdot\b"),
}


def test_every_preset_is_here():
    assert set(MULTIPLIES) == set(targets.PRESETS)


@pytest.mark.parametrize("preset", list(MULTIPLIES))
def test_bytes_are_multiplied_by_the_instruction_that_is_for_it(preset):
    assembly = code_of_products(preset)
    instruction, unwanted = MULTIPLIES[preset]
    used = Counter(re.findall(r"^\s+(?:\{\w+\}\s+)?([a-z]\w*)", assembly, re.MULTILINE))
    assert used[instruction] >= 8  # a group of 32 inputs of 16 outputs
    assert not re.search(unwanted, assembly)


def test_one_row_needs_no_memory_beside_its_weights():
    """Half of a group of a strip fits into the registers of AVX2, if it is taken out of its words
    in the order in which it is multiplied."""
    assembly = code_of_products("x86-64-v3")
    blocks = re.split(r"^(?:\.LBB\w+:|\s+j\w+\s)", assembly, flags=re.MULTILINE)
    one_row = next(b for b in blocks if b.count("vpmaddubsw") == 16)
    assert "%rsp" not in one_row


@pytest.mark.parametrize("preset", ["x86-64-v3", "x86-64-v3-vnni"])
def test_a_group_that_waits_for_many_rows_is_aligned(preset):
    """Its vectors must not cross cache lines."""
    assert "alloca [8 x <16 x i32>], align 64" in code_of_products(preset, "ll")


def code_of_products(preset: str, form: str = "asm") -> str:
    device = targets.PRESETS[preset]
    # Weights of 4 bits: those of 8 are split in two on some sets.
    case = CASES["strips8_Q4_0"](np.random.default_rng(0), device.vectors)
    kernel = case.function.with_attr("global_symbol", "main")
    module = tvm.IRModule({"main": kernel})
    compiled = tvm.compile(module, target=device.target(), tir_pipeline=lowering.CPU)
    return compiled.mod.inspect_source(form)
