"""`mlc_llm compile`: the file it writes, and what it refuses."""

from __future__ import annotations

import argparse
import json

import pytest

pytest.importorskip("tvm")

from tiny_llama import chat_config  # noqa: E402
from vm_runner import Runner  # noqa: E402

from mlc_llm.cli import compile as command  # noqa: E402
from mlc_llm.compiler import hosts, targets  # noqa: E402
from mlc_llm.compiler.compile import compile_model, library_spec  # noqa: E402
from mlc_llm.compiler.options import OptimizationFlags, notes  # noqa: E402
from mlc_llm.compiler.trailer import fnv1a, trailer  # noqa: E402
from mlc_llm.errors import (  # noqa: E402
    CorruptFileError,
    InvalidRequestError,
    NotFoundError,
    UnsupportedError,
)

CONFIG = chat_config("q4f32_1")


def run_command(*arguments: str) -> None:
    parser = argparse.ArgumentParser()
    command.register(parser.add_subparsers())
    args = parser.parse_args(["compile", *arguments])
    args.run(args)


def test_the_command_writes_a_library_that_ends_in_its_trailer(tmp_path):
    (tmp_path / "mlc-chat-config.json").write_text(json.dumps(CONFIG))
    output, dump = tmp_path / "out" / "tiny.so", tmp_path / "dump"
    default = ("--system-lib-prefix", "auto")  # as MLC-LLM's commands may say
    run_command(str(tmp_path), "-o", str(output), "--debug-dump", str(dump), *default)
    data = output.read_bytes()
    assert data[-24:] == trailer(data[:-24])
    assert [p.name for p in output.parent.iterdir()] == ["tiny.so"]  # no leftovers
    (machine,) = dump.glob("*-machine-AttachSymbols.py")
    assert machine.read_text().count("def paged_attention") == 1


def test_fnv1a_of_known_strings():
    assert fnv1a(b"") == 0xCBF29CE484222325
    assert fnv1a(b"foobar") == 0x85944171F73967E8


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"output": "x.txt"}, InvalidRequestError, ".so"),
        ({"system_lib_prefix": "abc"}, InvalidRequestError, "system-lib-prefix"),
        ({"host": "aarch64-linux-gnu"}, UnsupportedError, ".tar"),
        ({"device": "windows:vulkan"}, UnsupportedError, "not built yet"),
        ({"device": "abacus"}, InvalidRequestError, "unknown device"),
        ({"opt": "O9"}, InvalidRequestError, "--opt"),
        ({"opt": "cudagraph=2"}, InvalidRequestError, "0 or 1"),
        ({"overrides": "context=1"}, InvalidRequestError, "unknown name"),
        ({"overrides": "max_num_seq=1"}, InvalidRequestError, "did you mean 'max_num_sequence'"),
        ({"overrides": "prefill_chunk_size=x"}, InvalidRequestError, "name=integer"),
        ({"overrides": "prefill_chunk_size=0"}, CorruptFileError, "prefill_chunk_size"),
        ({"overrides": "tensor_parallel_shards=3"}, UnsupportedError, "equal parts"),
        ({"overrides": "tensor_parallel_shards=65"}, CorruptFileError, "from 1 to 64"),
        ({"overrides": "pipeline_parallel_stages=2"}, UnsupportedError, "no stages"),
        ({"quantization": "q9"}, UnsupportedError, "q4f32_1"),
        ({"model_type": "mamba"}, UnsupportedError, "llama"),
    ],
)
def test_mistakes_are_refused_before_anything_is_written(tmp_path, change, error, words):
    options = {"output": "x.so", **change}
    options["output"] = tmp_path / options["output"]
    with pytest.raises(error, match=words):
        compile_model(CONFIG, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "error"),
    [(None, NotFoundError), ("[1]", CorruptFileError), ("{", CorruptFileError),
     ("\x80", CorruptFileError), ("[" * 100_000, CorruptFileError), ("{}", CorruptFileError)],
)  # fmt: skip
def test_a_bad_config_is_one_clear_error(tmp_path, content, error):
    if content is not None:
        (tmp_path / "mlc-chat-config.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(error):
        run_command(str(tmp_path), "-o", str(tmp_path / "x.so"))


def test_overrides_and_outer_sizes_win_over_the_model_config():
    outer = {"model_config": CONFIG, "model_type": "llama", "quantization": "q0f32"}
    spec = library_spec({**outer, "context_window_size": 512}, overrides="prefill_chunk_size=64")
    assert (spec.config.context_window_size, spec.prefill_chunk_size) == (512, 64)
    assert spec.config.rope_theta == CONFIG["rope_theta"]


def test_opt_levels_and_flags():
    assert OptimizationFlags.parse("O0") == OptimizationFlags()
    assert OptimizationFlags.parse("O3").cudagraph
    assert OptimizationFlags.parse("cudagraph=1;cutlass=0") == OptimizationFlags(cudagraph=True)


def test_flags_that_change_nothing_are_told_with_the_reason():
    assert notes("cublas_gemm=1;cudagraph=1;cutlass=0", targets.resolve("cuda")) == []
    assert notes("activation_bits=16", targets.resolve("x86-64-v3")) == []
    for flags, device, words in [
        ("cudagraph=1;cutlass=0;activation_bits=16", "x86-64-v3", ["cudagraph"]),
        ("activation_bits=32", "opencl", ["activation_bits"]),
        ("cublas_gemm=1;cudagraph=1", "metal", ["cublas_gemm", "cudagraph"]),
        ("flashinfer=1;cutlass=1;faster_transformer=1", "cuda", ["flash", "cutlass", "faster"]),
    ]:
        lines = notes(flags, targets.resolve(device))
        assert len(lines) == len(words)
        for line, word in zip(lines, words, strict=True):
            assert line.startswith(f"--opt: {word}") and f" on {device}: " in line
            assert len(line.splitlines()) == 1


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
@pytest.mark.parametrize("device", ["x86-64-v3", "opencl", "metal", "cuda", "rocm"])
def test_a_level_says_what_it_is_on_a_device(level, device):
    (line,) = notes(level, targets.resolve(device))
    calls_library = device == "cuda" and level in ("O2", "O3")
    assert f"--opt: {level} on {device} uses " in line
    assert ("uses cublas_gemm" in line) == calls_library
    assert ("without effect" in line) == (level != "O0")
    assert ("cudagraph;" in line) == (device in ("cuda", "rocm") and level == "O3")


def test_levels_choose_what_a_device_may_use():
    for level, gemm, graphs in (("O0", 0, 0), ("O1", 0, 0), ("O2", 1, 0), ("O3", 1, 1)):
        device = library_spec(CONFIG, device="cuda", opt=level).device
        assert (bool(device.gemm), device.graphs) == (bool(gemm), bool(graphs))
        device = library_spec(CONFIG, device="opencl", opt=level).device
        assert not device.gemm and not device.graphs
    assert library_spec(CONFIG, device="cuda", opt="cublas_gemm=1").device.gemm


@pytest.mark.parametrize(
    ("device", "scheme", "opt", "expected"),
    [
        ("vulkan", "q4f16_1", "O2", "float16"),
        ("webgpu", "q0f16", "O2", "float16"),
        ("cuda", "q4f16_1", "O2", "float32"),
        ("vulkan", "q4f16_1", "activation_bits=32", "float32"),
        ("vulkan", "q4f32_1", "O2", "float32"),
        ("vulkan", "q4bf16_1", "O2", "float32"),
    ],
)
def test_a_gpu_computes_with_the_floats_of_the_scheme(device, scheme, opt, expected):
    from mlc_llm.compiler import models
    from mlc_llm.compiler.nn import Builder

    spec = library_spec({**CONFIG, "quantization": scheme}, device=device, opt=opt)
    weights = models.get("llama").weight_map(spec.config)
    nn = Builder(spec.scheme, spec.device, weights, activation_bits=spec.activation_bits)
    assert (nn.row_dtype, nn.page_dtype) == (expected, expected)


@pytest.mark.parametrize("scheme", ["q0bf16", "q4bf16_1", "fp8_e4m3fn_bf16_block_scale"])
@pytest.mark.parametrize("device", ["vulkan", "webgpu"])
def test_bfloat16_is_refused_where_a_device_has_no_such_type(device, scheme):
    from mlc_llm.compiler.library import build_module
    from mlc_llm.compiler.models import get

    config = {**CONFIG, "quantization": scheme}
    match = f"quantization {scheme} stores .* as bfloat16, which {device} does not have"
    with pytest.raises(UnsupportedError, match=match) as error:
        build_module(library_spec(config, device=device), get("llama"))
    assert error.value.param == "quantization"


@pytest.mark.parametrize(
    ("device", "name", "message"),
    [
        ("vulkan", "bf16", "vulkan has no kernels for it; choose f32, f16 or q8"),
        ("opencl", "f16", "opencl has no kernels for it; choose f32 or q8"),
        ("cpu", "q4", "must be one of auto, f32, f16, bf16, q8"),
    ],
)
def test_a_precision_of_the_cache_that_is_not_there_is_refused(device, name, message):
    from mlc_llm.compiler.library import build_module
    from mlc_llm.compiler.models import get

    with pytest.raises((InvalidRequestError, UnsupportedError), match=message) as error:
        build_module(library_spec(CONFIG, device=device, kv_cache_dtype=name), get("llama"))
    assert error.value.param == "kv_cache_dtype"


# test_kernels_everywhere.py has the kernels of each, test_linked_library.py all of x86-64-v2.
COMPILED_WHOLE = ("x86-64-v3", "aarch64-dotprod")


@pytest.mark.parametrize("preset", list(targets.PRESETS))
def test_every_preset_generates_code(preset, request):
    if preset not in COMPILED_WHOLE and not request.config.getoption("--long"):
        pytest.skip("compiles one more library; run with --long")
    from mlc_llm.compiler import models, pipeline
    from mlc_llm.compiler.library import build_module

    spec = library_spec({**CONFIG, "num_hidden_layers": 1}, device=preset)
    executable = pipeline.build(build_module(spec, models.get("llama")), spec.device)
    assert executable is not None


def test_a_library_opens_with_its_trailer(tmp_path):
    from tiny_llama import random_weights

    from mlc_llm.compiler import quantization

    compile_model(CONFIG, output=tmp_path / "tiny.so")
    weights, _ = random_weights(library_spec(CONFIG).config, quantization.get("q4f32_1"))
    runner = Runner.open(tmp_path / "tiny.so", weights)
    assert runner.forward([("a", [1, 2])]).shape == (2, 99)


@pytest.mark.parametrize(
    ("hidden", "expected"), [("avx512f", "x86-64-v3"), ("avx512f avx2", "x86-64-v2"), ("", None)]
)
def test_features_that_a_virtual_machine_hides_are_not_used(monkeypatch, hidden, expected):
    usable = targets._usable_features()
    if "avx512f" not in usable:
        pytest.skip("needs a processor with AVX-512")
    monkeypatch.setattr(targets, "_usable_features", lambda: usable - set(hidden.split()))
    device = targets.host()
    assert expected is None or device.mcpu == expected


@pytest.mark.parametrize(
    ("triple", "expected"),
    [
        ("arm64-apple-ios", "arm64-apple-ios16.0"),
        ("arm64-apple-ios-simulator", "arm64-apple-ios16.0-simulator"),
        ("arm64-apple-ios-macabi", "arm64-apple-ios16.0-macabi"),
        ("arm64-apple-ios17.1", "arm64-apple-ios17.1"),
        ("arm64-apple-macos", "arm64-apple-macos13.0"),
        ("arm64-apple-macosx13.1", "arm64-apple-macosx13.1"),
        ("aarch64-linux-android", "aarch64-linux-android"),
    ],
)
def test_apples_triples_have_a_version(triple, expected):
    """Without one LLVM writes no platform into the objects."""
    assert hosts.with_version(triple) == expected
