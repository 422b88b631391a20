"""What the core runs kernel by kernel, beside TVM's virtual machine; and what it allocates."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tvm")

import mlc_core_parts  # noqa: E402
from tiny_llama import VARIANTS, chat_config, tiny  # noqa: E402
from vm_runner import Runner  # noqa: E402

from mlc_llm.compiler import library, memory, models, programs  # noqa: E402
from mlc_llm.compiler.compile import library_spec  # noqa: E402
from mlc_llm.prepare.model_source import ResolvedModel  # noqa: E402

PROMPT = [int(i) for i in np.random.default_rng(3).integers(3, 60, 37)]


def test_the_core_computes_the_machines_bits(tiny_model: ResolvedModel) -> None:
    core = mlc_core_parts.ModelRunner(str(tiny_model.folder), str(tiny_model.model_lib), 48, 2)
    machine = Runner.open(tiny_model.model_lib, tiny_model.folder)

    def equal(raw: bytes, expected: np.ndarray) -> None:
        assert np.array_equal(np.frombuffer(raw, np.float32).reshape(expected.shape), expected)

    equal(core.forward(PROMPT, True), machine.forward([("a", PROMPT)]))
    equal(core.forward([5]), machine.forward([("a", [5])]))
    core.fork(0, 1, len(PROMPT) + 1)
    machine.fork("a", "b")
    equal(core.decode([7, 8]), machine.forward([("a", [7]), ("b", [8])]))
    assert core.decode([3, 4], copy_logits=False) is None  # the tokens are there all the same
    machine.forward([("a", [3]), ("b", [4])])
    equal(core.decode([5, 6]), machine.forward([("a", [5]), ("b", [6])]))
    equal(core.forward(PROMPT), machine.forward([("a", PROMPT)], last_only=True))


def test_a_long_history_has_the_same_bits_on_any_number_of_threads(
    tiny_model: ResolvedModel,
) -> None:
    """Its parts are walked by whoever is free."""
    tokens = [int(t) for t in np.random.default_rng(8).integers(3, 60, 2100)]
    found = set()
    for threads in (1, 2, 5):
        core = mlc_core_parts.ModelRunner(
            str(tiny_model.folder), str(tiny_model.model_lib), 160, threads
        )
        for begin in range(0, len(tokens), 128):
            core.forward(tokens[begin : begin + 128])
        core.fork(0, 1, len(tokens))
        found.add(core.decode([5, 6]) + core.forward([7]))
    assert len(found) == 1


@pytest.mark.parametrize("scheme", ["q4f16_1", "q0f32"])
@pytest.mark.parametrize("variant", ["plain", "untied, biases"])
def test_nothing_is_read_after_its_memory_was_given_away(scheme: str, variant: str) -> None:
    """Follows a program call by call, beside the graph that it was made from."""
    module = tiny(scheme, variant).runner().vm
    assert variant in VARIANTS
    programs = json.loads(str(module["_programs"]()))
    for name in ("embed", "batch_prefill"):
        program = programs[name]
        written: dict[int, str] = {}  # by buffer: the temporary whose value it holds
        for _, *arguments in program["calls"]:
            temporaries = [a for a in arguments if a[0] == "t"]
            if not temporaries:
                continue  # copies of slots
            *read, made = temporaries
            for temporary in read:
                buffer = program["temporaries"][int(temporary[1:])]["buffer"]
                assert written[buffer] == temporary
            buffers = {program["temporaries"][int(t[1:])]["buffer"] for t in read}
            buffer = program["temporaries"][int(made[1:])]["buffer"]
            assert buffer not in buffers  # kernels' arguments do not overlap
            written[buffer] = made
        assert set(program["results"].values()) <= set(written.values())


COUNTER = """
#include <cstddef>
#include <cstdint>
#include <atomic>
extern "C" void* __libc_malloc(size_t);
extern "C" void* __libc_memalign(size_t, size_t);
static std::atomic<int64_t> calls{0};
extern "C" int64_t malloc_calls() { return calls; }
extern "C" void* malloc(size_t size) { ++calls; return __libc_malloc(size); }
extern "C" void* aligned_alloc(size_t align, size_t size) {
  ++calls; return __libc_memalign(align, size);
}
"""
STEPS = """
import ctypes, sys
import mlc_core_parts
count = ctypes.CDLL(None).malloc_calls
count.restype = ctypes.c_int64
runner = mlc_core_parts.ModelRunner(sys.argv[1], sys.argv[2], 64, 2)
runner.forward(list(range(3, 9)))
for _ in range(4): runner.decode([5])
begin = count()
for _ in range(64): runner.decode([5])
print((count() - begin) / 64)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts with glibc's own malloc")
def test_a_step_allocates_next_to_nothing(tiny_model: ResolvedModel, tmp_path: Path) -> None:
    """The batch's lists and what Python needs: not what the kernels, by layer, would."""
    (tmp_path / "count.cc").write_text(COUNTER)
    library = tmp_path / "count.so"
    compiler = ["g++", "-shared", "-fPIC", "-O1", "-o", library, tmp_path / "count.cc"]
    subprocess.run(compiler, check=True)
    run = subprocess.run(
        [sys.executable, "-c", STEPS, tiny_model.folder, tiny_model.model_lib],
        env={**os.environ, "LD_PRELOAD": str(library)},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert float(run.stdout) < 24, run.stdout


def test_what_a_library_call_needs_besides_is_there_once() -> None:
    """The largest matrix of a decode step, written out, in one buffer of fixed size."""
    config = chat_config("q4f32_1")
    spec = library_spec(config, device="cuda", opt="O3")
    decode = library.build_module(spec, models.get("llama"))["batch_decode_tokens"]
    program = programs.program_of(decode)
    fixed = [bytes_ for size, bytes_ in program["buffers"] if size == programs.FIXED]
    shapes = [t["shape"] for t in program["temporaries"] if isinstance(t["shape"][0], int)]
    assert len(shapes) > 1 and fixed == [max(4 * np.prod(shape) for shape in shapes)]
    assert memory.peak_bytes(decode)[memory.FIXED] == fixed[0]
    bytes_ = programs.buffer_bytes(program)
    assert bytes_[memory.FIXED] == fixed[0]
    for size, least in memory.peak_bytes(decode).items():
        inputs = sum(4 for i in program["inputs"] if i["shape"] == [size])
        assert least - inputs <= bytes_.get(size, 0) < 2 * least, size
    assert program["calls"][-1][0].startswith("linear")
    assert program["calls"][-1][-2] == program["results"]["result"]  # the scratch is behind it


def test_narrow_temporaries_do_not_take_wide_buffers() -> None:
    """Two wide ones share a buffer, although a narrow one is made between them."""
    lifetimes = [programs.Lifetime("n", *one) for one in ((100, 0, 1), (1, 2, 4), (100, 3, 4))]
    buffers = programs.Buffers()
    assert buffers.place(lifetimes) == [0, 1, 0]
    assert buffers.sizes == [("n", 100), ("n", 1)]


def test_temporaries_in_one_buffer_are_never_needed_together() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        lifetimes = []
        for _ in range(40):
            size = ("n", "m", programs.FIXED)[rng.integers(3)]
            width, begin, length = (int(rng.integers(least, 30)) for least in (1, 0, 0))
            lifetimes.append(programs.Lifetime(size, width, begin, begin + length // 3))
        buffers = programs.Buffers()
        places = buffers.place(lifetimes)
        for i, (one, place) in enumerate(zip(lifetimes, places, strict=True)):
            size, width = buffers.sizes[place]
            assert size == one.size and width >= one.width
            others = [lifetimes[j] for j in range(i) if places[j] == place]
            assert all(one.begin > other.end or other.begin > one.end for other in others)
