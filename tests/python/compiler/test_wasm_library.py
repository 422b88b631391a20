"""Libraries for browsers: their options, their form, the trailer in a section of their own."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest

pytest.importorskip("tvm")

import tvm
from kernel_cases import CASES
from test_compile import CONFIG

from mlc_llm.compiler import hosts, lowering, targets
from mlc_llm.compiler.compile import compile_model
from mlc_llm.compiler.trailer import MAGIC, as_wasm_section, fnv1a, trailer
from mlc_llm.errors import InvalidRequestError, MLCError
from mlc_llm.prepare import linker, wasm_linker

SMALL = {**CONFIG, "num_hidden_layers": 1}


def numbers(data: bytes, at: int) -> tuple[int, int]:
    """A LEB128 number and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def sections(data: bytes) -> list[tuple[int, bytes]]:
    assert data[:8] == b"\0asm\1\0\0\0"
    found, at = [], 8
    while at < len(data):
        kind = data[at]
        size, at = numbers(data, at + 1)
        found.append((kind, data[at : at + size]))
        at += size
    assert at == len(data)
    return found


@pytest.mark.parametrize(
    ("output", "options", "named", "words"),
    [
        ("m.wasm", {"device": "x86-64-v2"}, "output", "--device webgpu --host wasm32"),
        ("m.so", {"device": "wasm"}, "output", "ends in .wasm"),
        ("m.so", {"device": "webgpu", "host": "wasm32"}, "output", "ends in .wasm"),
        ("m.wasm", {"device": "x86-64-v2", "host": "wasm32"}, "host", "machine of --device"),
    ],
)
def test_what_is_no_library_for_browsers_is_refused(tmp_path, output, options, named, words):
    with pytest.raises(InvalidRequestError, match=words) as error:
        compile_model(SMALL, output=tmp_path / output, **options)
    assert error.value.param == named
    assert not (tmp_path / output).exists()


def test_host_wasm32_is_the_triple_of_relocatable_code():
    webgpu = hosts.on_host(targets.resolve("webgpu"), "wasm32")
    assert webgpu.host == targets.WASM_TRIPLE and hosts.is_wasm(webgpu)
    assert hosts.is_wasm(targets.resolve("wasm"))
    assert not hosts.is_wasm(targets.resolve("webgpu"))


def test_the_trailer_is_a_section_that_ends_the_file():
    module = b"\0asm\1\0\0\0"
    data = as_wasm_section(module)
    data += trailer(data)
    [(kind, content)] = sections(data)
    assert kind == 0 and content[1:12] == b"mlc_trailer"
    assert data[-24:-16] == MAGIC
    assert struct.unpack("<QQ", data[-16:]) == (len(data) - 24, fnv1a(data[:-24]))


def test_without_a_linker_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.delenv("WASM_LD", raising=False)
    monkeypatch.setattr(linker.shutil, "which", lambda name: None)
    monkeypatch.setattr(linker.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MLCError, match="pip install ziglang") as error:
        compile_model(SMALL, output=tmp_path / "m.wasm", device="wasm")
    assert error.value.code == "linker_missing"


@pytest.mark.skipif(wasm_linker.find() is None, reason="no wasm-ld: pip install ziglang")
def test_a_library_is_a_relocatable_module(tmp_path):
    output = tmp_path / "m.wasm"
    compile_model(SMALL, output=output, device="wasm")
    found = sections(output.read_bytes())
    assert found[0][0] == 0 and found[0][1][1:9] == b"dylink.0"


def assembly_of(case: str) -> str:
    one = CASES[case](np.random.default_rng(0), targets.WASM.vectors)
    kernel = one.function.with_attr("global_symbol", "main")
    module, target = tvm.IRModule({"main": kernel}), targets.WASM.target()
    compiled = tvm.compile(module, target=target, tir_pipeline=lowering.CPU)
    text: str = compiled.mod.inspect_source("asm")
    return text


def test_bytes_are_multiplied_in_vectors():
    assembly = assembly_of("strips8_Q4_0")
    # a group of 32 inputs of 16 outputs: 8 quads in 4 vectors
    assert assembly.count("i16x8.mul") >= 2 * 8 * 4
    assert assembly.count("i32x4.dot_i16x8_s") >= 4


@pytest.mark.parametrize("case", ["strips16_Q4_1", "integer16_q4f16_1"])
def test_codes_of_16_bits_are_multiplied_whole(case):
    assembly = assembly_of(case)
    assert assembly.count("i32x4.dot_i16x8_s") >= 2 * 8 * 4
    assert "i16x8.mul" not in assembly
    if case == "strips16_Q4_1":  # its bias is no float16
        assert not re.search(r"call\s+__extendhfsf2", assembly)
