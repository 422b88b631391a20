"""The default model in Deno: on WebGPU by the SDK over a folder of `mlc_llm package --device web`,
and on wasm SIMD. They compile libraries and compute for minutes, so only `--long` runs them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_web_engine import (
    ENVIRONMENT,
    ROOT,
    WASM,
    ask,
    chat,
    deno,
    loaded,
    native,
    require_gpu,
    run,
    texts,
)
from web_package import packaged

from mlc_llm import MLCEngine
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.prepare import wasm_linker
from mlc_llm.prepare.local_model import DEFAULT_MODEL
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model

pytestmark = [
    pytest.mark.skipif(not WASM.exists(), reason="no build/web/mlc_llm.wasm: ./dev build web"),
    pytest.mark.skipif(deno() is None, reason="no Deno: pip install deno"),
    pytest.mark.skipif(wasm_linker.find() is None, reason="no wasm-ld: pip install ziglang"),
]
QUESTIONS = ["What is the capital of France?", "Say hello."]
SECONDS = 590
MEGA = 1_000_000


@pytest.fixture(scope="module")
def model(request: pytest.FixtureRequest) -> ResolvedModel:
    if not request.config.getoption("--long"):
        pytest.skip("minutes of CPU: --long")
    return resolve_model(DEFAULT_MODEL, progress=lambda _: None)


def printed_by(script: str, *files: Path) -> Any:
    """What a program of this folder prints in Deno."""
    done = subprocess.run(
        [str(deno()), "run", "-A", "--no-check", f"--config={ROOT}/bindings/web/deno.json",
         "--location", "http://localhost/", str(Path(__file__).parent / script), *map(str, files)],
        capture_output=True, text=True, timeout=SECONDS, env=ENVIRONMENT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def simd(model: ResolvedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("web-model") / "wasm.wasm"
    compile_model(read_chat_config(model.folder), output=library, device="wasm")
    return library


def test_on_webgpu_it_writes_the_native_text_of_float_activations(
    model: ResolvedModel, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The native default has activations of 16 bits. In the second answer two tokens are equally
    likely, and it takes the other one."""
    require_gpu(request)
    asked = [chat(question, max_tokens=12) for question in QUESTIONS]
    requests = tmp_path / "requests.json"
    requests.write_text(json.dumps([one["request"] for one in asked]))
    found = printed_by(
        "packaged_model.ts", packaged(tmp_path, default=Path(model.folder)), WASM, requests
    )
    library, opt = tmp_path / "native.so", "activation_bits=32"
    compile_model(read_chat_config(model.folder), output=library, device="cpu", opt=opt)
    with MLCEngine(model.folder, model_lib=str(library), device="cpu") as engine:
        assert found["texts"] == [native(engine, one) for one in asked]
    metrics = found["metrics"]
    assert metrics["device_read_bytes_sum"] <= 16 * metrics["num_steps"]
    # Cache and weights are on the device: a part of a weight is all that is here of them.
    assert found["heap"]["used"] <= found["heap"]["empty"] + 16 * MEGA


def test_on_wasm_simd_it_writes_the_native_text(model: ResolvedModel, simd: Path) -> None:
    asked = [chat(question, max_tokens=40) for question in QUESTIONS]
    begin = loaded(Path(model.folder), simd, "cpu")
    small = {"op": "engine", "config": {"max_num_sequence": 2, "max_total_seq_length": 1024}}
    heap, plan = {"op": "heap"}, {**begin[-1], "op": "plan"}
    before, *_, bytes_of, answers, used = run(
        [heap, small, *begin, plan, ask(*asked), heap], seconds=SECONDS
    )
    # Kernels of a CPU read cache and weights in WebAssembly's memory, so both are in it.
    weights_and_cache = bytes_of["parameter_bytes"] + bytes_of["kv_cache_bytes"]
    assert used <= before + weights_and_cache + 16 * MEGA
    with MLCEngine(model.folder, model_lib=str(model.model_lib), device="cpu") as engine:
        assert texts(answers) == [native(engine, one) for one in asked]


def test_webllm_s_programs_run_on_it(model: ResolvedModel, simd: Path) -> None:
    assert printed_by("model_programs.ts", Path(model.folder), simd, WASM) == []
