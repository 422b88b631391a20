"""A whole tiny library through TVM's virtual machine: numbers, bits, forks, and thread counts."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tvm")

from kernel_tools import schemes_with_own_kernels  # noqa: E402
from tiny_llama import VARIANTS, chat_config, random_weights, tiny  # noqa: E402
from vm_runner import Runner  # noqa: E402

from mlc_llm.compiler import models, quantization  # noqa: E402
from mlc_llm.compiler.compile import library_spec  # noqa: E402
from mlc_llm.compiler.library import build_module  # noqa: E402
from mlc_llm.compiler.quantization.schemes import GROUPS  # noqa: E402

IDS = [int(i) for i in np.random.default_rng(5).integers(0, 99, 75)]
OTHER = [int(i) for i in np.random.default_rng(6).integers(0, 99, 20)]


# Their activations are rounded to 8 bits, in groups; keys and values to float16, as in all of 3 and
# 4 bits.
IN_WHOLE_NUMBERS = tuple(scheme.name for scheme in GROUPS)


def close(actual, expected, tolerance=2e-5):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def tolerance_of(scheme):
    if scheme in IN_WHOLE_NUMBERS:
        return 5e-2
    return 2e-5 if scheme.startswith("q0") else 1e-3


# Others of the same kind, with scales or activations of another type.
ALSO = ("e5m2_e5m2_f16", "q0f16", "q4bf16_0", "q4bf16_1", "q4f16_1", "q4f16_2")


@pytest.mark.parametrize("scheme", [scheme.name for scheme in schemes_with_own_kernels()])
def test_prefill_equals_numpy_in_every_scheme(scheme, request):
    if scheme in ALSO and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each scheme; run with --long")
    model = tiny(scheme)
    close(model.runner().forward([("a", IDS)]), model.expected(IDS), tolerance_of(scheme))


@pytest.mark.parametrize("scheme", IN_WHOLE_NUMBERS)
def test_float_activations_are_the_simulation_of_the_scheme(scheme, request):
    """What the weights lose is in the simulation; what 8-bit activations lose is not."""
    if not request.config.getoption("--long"):
        pytest.skip("compiles a library for each scheme; run with --long")
    model = tiny(scheme, kv_cache_dtype="f32", opt="activation_bits=32")
    close(model.runner().forward([("a", IDS)]), model.expected(IDS), 1e-3)


@pytest.mark.parametrize(
    ("variant", "scheme"), [*((v, "q0f32") for v in VARIANTS), ("untied, biases", "q3f16_0")]
)
def test_every_variant_equals_numpy(variant, scheme):
    model = tiny(scheme, variant)
    close(model.runner().forward([("a", IDS)]), model.expected(IDS), tolerance_of(scheme))


@pytest.mark.parametrize(("name", "tolerance"), [("f16", 1e-3), ("bf16", 1e-2), ("q8", 2e-2)])
def test_a_cache_of_less_precision_is_near_numpy(name, tolerance):
    model = tiny("q0f32", kv_cache_dtype=name)
    found = model.runner().forward([("a", IDS)])
    close(found, model.expected(IDS), tolerance)
    assert model.runner().metadata["kv_cache"]["dtype"] == name
    whole = tiny("q0f32", kv_cache_dtype="f32")  # compiled in the same way
    assert not np.array_equal(found, whole.runner().forward([("a", IDS)]))


@pytest.mark.parametrize(
    ("scheme", "kept"),
    [*((s, None) for s in ("q0f32", "q4f32_1", "q3f16_0", "q3f16_1")), ("q0f32", "q8")],
)
def test_a_row_has_the_same_bits_in_any_chunk_and_company(scheme, kept):
    model = tiny(scheme, kv_cache_dtype=kept)
    whole = model.runner().forward([("a", IDS)])
    chunked = model.runner()
    parts = [IDS[:1], IDS[1:20], IDS[20:33], *([i] for i in IDS[33:38]), IDS[38:]]
    assert np.array_equal(np.concatenate([chunked.forward([("a", p)]) for p in parts]), whole)
    company = model.runner()
    company.forward([("b", OTHER[:3])])
    first = company.forward([("b", OTHER[3:9]), ("a", IDS[:40]), ("c", OTHER)])[6:46]
    second = company.forward([("a", IDS[40:]), ("b", OTHER[9:10])])[:35]
    assert np.array_equal(np.concatenate([first, second]), whole)


def test_only_the_rows_that_are_asked_for_have_logits():
    model = tiny("q4f32_1")
    work = [("a", IDS[:9]), ("b", OTHER)]
    every, last = model.runner().forward(work), model.runner().forward(work, last_only=True)
    assert np.array_equal(last, every[[8, 28]])


@pytest.mark.parametrize("length", [32, 37])
def test_a_fork_shares_pages_and_goes_its_own_way(length):
    model = tiny("q4f32_1")
    runner = model.runner()
    runner.forward([("a", IDS[:length])])
    runner.fork("a", "b")
    both = runner.forward([("a", OTHER[:5]), ("b", OTHER[5:10])])
    alone = [model.runner().forward([("x", IDS[:length] + OTHER[i : i + 5])])[-5:] for i in (0, 5)]
    assert np.array_equal(both, np.concatenate(alone))


def test_metadata_lists_what_the_library_takes():
    metadata = tiny("q4f16_1").runner().metadata
    assert metadata["quantization"] == "q4f16_1"
    layer = {
        "page_shape": [2, 2, 256],
        "slot_runs": [[32, 1], [2, 16]],
        "dtype": "float16",
        "sliding_window_size": -1,
    }
    assert metadata["kv_cache"] == {"page_size": 16, "dtype": "f16", "layers": [layer, layer]}
    first = {"name": "model.embed_tokens.q_weight", "shape": [99, 8], "dtype": "uint32"}
    assert metadata["params"][0] == first
    assert metadata["target"]["kind"] == "llvm"
    layer |= {"page_shape": [2, 2, 80], "dtype": "uint32"}  # 16 * (4 words and a scale)
    layer["slot_runs"] = [[10, 1], [1, 4], [1, 1], [1, 4], [1, 1]]
    kept = tiny("q0f32", kv_cache_dtype="q8").runner().metadata["kv_cache"]
    assert kept == {"page_size": 16, "dtype": "q8", "layers": [layer, layer]}


def params_of(scheme, variant, **options):
    spec = library_spec(chat_config(scheme, variant), **options)
    module = build_module(spec, models.get("llama"))
    return json.loads(module["_metadata"].body.body.value)["params"]


def tables_read_by_rows(device, variant):
    params = params_of("q4f16_1", variant, device=device)
    return [param["name"] for param in params if param.get("by_rows")]


@pytest.mark.parametrize("scheme", ["q4f32_1", "q8f32_1"])
def test_scales_are_not_more_precise_than_activations_ask_for(scheme):
    def scales(opt="O0", device="x86-64-v3"):
        params = params_of(scheme, "untied, biases", device=device, opt=opt)
        return {
            p["name"]: (p["dtype"], *p.get("strips", [])) for p in params if "scale" in p["name"]
        }

    of_bytes, exact = scales(), scales(opt="activation_bits=16")
    assert {dtype for dtype, *_ in exact.values()} == {"float32"}
    assert scales(device="wasm") == scales(opt="activation_bits=16", device="wasm")
    in_strips = {name: found for name, found in exact.items() if len(found) > 1}
    assert "model.layers.0.self_attn.o_proj.q_scale" in in_strips and len(in_strips) < len(exact)
    rounded = {name: ("float16", *strips, 16) for name, (_, *strips) in in_strips.items()}
    assert of_bytes == exact | rounded


def test_embeddings_stay_in_their_file_unless_they_are_the_head_too():
    names = [f"model.embed_tokens.q_{part}" for part in ("weight", "scale")]
    assert tables_read_by_rows("cpu", "untied, biases") == names
    assert tables_read_by_rows("cpu", "plain") == []
    assert tables_read_by_rows("cuda", "untied, biases") == []
    assert tables_read_by_rows("wasm", "untied, biases") == []  # a browser maps no files


def digest(library: str) -> str:
    """Of all logits of a prompt and a step, in whatever process this runs."""
    scheme = quantization.get("q4f32_1")
    config = library_spec(chat_config("q4f32_1")).config
    runner = Runner.open(Path(library), random_weights(config, scheme)[0])
    logits = [runner.forward([("a", IDS)]), runner.forward([("a", [3])])]
    return hashlib.sha256(np.concatenate(logits).tobytes()).hexdigest()


def test_bits_do_not_depend_on_the_number_of_threads(tmp_path):
    library = tmp_path / "tiny.so"
    tiny("q4f32_1").module.export_library(str(library))
    folder = Path(__file__).parent
    code = (
        f"import sys; sys.path[:0] = {[str(folder), str(folder / 'support')]}\n"
        f"import test_library; print(test_library.digest({str(library)!r}))"
    )
    found = set()
    for threads in ("1", "3"):
        environment = {**os.environ, "TVM_NUM_THREADS": threads}
        run = [sys.executable, "-c", code]
        output = subprocess.run(run, env=environment, check=True, capture_output=True, text=True)
        found.add(output.stdout.split()[-1])
    assert len(found) == 1
