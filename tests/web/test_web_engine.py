"""The engine in WebAssembly, run by Deno: its answers are those of the native engine.

`./dev build web` makes the module; it takes 14 minutes of CPU, so CI does not. Without it, or
without Deno, the tests skip. The tests on WebGPU need a Vulkan driver (lavapipe).
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlc_llm import MLCEngine
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.prepare.model_source import resolve_model

ROOT = Path(__file__).resolve().parents[2]
WASM = ROOT / "build" / "web" / "mlc_llm.wasm"
FAKE = ROOT / "tests" / "fixtures" / "fake-model"
sys.path.insert(0, str(ROOT / "tests" / "python" / "convert"))
# Lavapipe would take every core.
ENVIRONMENT = {**os.environ, "LP_NUM_THREADS": "1", "NODEVICE_SELECT": "1", "NO_COLOR": "1"}
FAKE_SPEC = {"model": "/fake", "device": "fake"}
GREEDY = {"temperature": 0, "max_tokens": 16, "debug_config": {"ignore_eos": True}}
PROMPTS = ["Hello", "The quick brown fox jumps over the lazy dog. " * 3, "1 2 3 4 5", "hi there"]


@functools.cache
def deno() -> str | None:
    beside = Path(sys.executable).parent / "deno"
    return str(beside) if beside.exists() else shutil.which("deno")


pytestmark = [
    pytest.mark.skipif(not WASM.exists(), reason="no build/web/mlc_llm.wasm: ./dev build web"),
    pytest.mark.skipif(deno() is None, reason="no Deno: pip install deno"),
]


def run(
    steps: list[dict[str, Any]], *, gpu: bool = False, jspi: bool = True, seconds: int = 300
) -> list[Any]:
    """What driver.ts prints for a script of steps."""
    script = ROOT / "build" / "web" / f"script-{os.getpid()}.json"
    script.write_text(json.dumps({"wasm": str(WASM), "gpu": gpu, "jspi": jspi, "steps": steps}))
    try:
        done = subprocess.run(
            [str(deno()), "run", "-A", "--no-check", "--location", "http://localhost/",
             str(Path(__file__).parent / "driver.ts"), str(script)],
            capture_output=True, text=True, timeout=seconds, env=ENVIRONMENT,
        )  # fmt: skip
    finally:
        script.unlink()
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def chat(prompt: str, **options: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": prompt}]
    return {"request": {"messages": messages, "stream": True, **GREEDY, **options}}


def ask(*together: dict[str, Any]) -> dict[str, Any]:
    return {"op": "ask", "together": list(together)}


def mounted(folder: str, path: Path, **options: Any) -> dict[str, Any]:
    return {"op": "mount", "folder": folder, "path": str(path), **options}


def texts(answers: list[dict[str, Any]]) -> list[str]:
    assert [a["ends"] for a in answers] == [1] * len(answers), answers
    assert not any("error" in a for a in answers), answers
    return [a["text"] for a in answers]


def native(engine: MLCEngine, asked: dict[str, Any]) -> str:
    request = {k: v for k, v in asked["request"].items() if k != "stream"}
    return engine.chat.completions.create(**request).choices[0].message.content


# ---- The fake device: everything but the model ----------------------------------------------


def test_the_fake_device_answers_as_natively() -> None:
    asked = [chat(p) for p in PROMPTS] + [chat("hi", temperature=1, seed=7)]
    steps = [mounted("/fake", FAKE), {"op": "load", "spec": FAKE_SPEC}, ask(*asked)]
    *_, answers = run(steps)
    with MLCEngine(FAKE, device="fake") as engine:
        assert texts(answers) == [native(engine, one) for one in asked]


def test_a_schema_is_followed_and_a_wrong_request_is_refused() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 99}},
              "required": ["a"]}  # fmt: skip
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    loaded = [mounted("/fake", FAKE), {"op": "load", "spec": FAKE_SPEC}]
    guided = chat("hi", response_format=form, max_tokens=64, debug_config={})
    whole = {"route": "tokenize", "request": {"text": "a b"}}
    *_, answers = run([*loaded, ask(guided, chat("x", temperature=-1), whole)])
    assert json.loads(answers[0]["text"])["a"] <= 99
    assert answers[1]["error"]["param"] == "temperature" and answers[1]["ends"] == 0
    assert answers[2]["result"]["count"] > 0


def test_an_aborted_request_ends_once_and_frees_its_pages() -> None:
    long = chat("a b c", max_tokens=500)
    loaded = [mounted("/fake", FAKE), {"op": "load", "spec": FAKE_SPEC}]
    clear = {"op": "metrics"}
    *_, answers, metrics = run([*loaded, ask({**long, "abort_after": 3}, chat("b")), clear])
    assert answers[0]["error"]["code"] == "request_cancelled"
    assert [a["ends"] for a in answers] == [1, 1] and answers[0]["chunks"] < 60
    assert metrics["num_running_sequences"] == 0


def test_errors_are_typed() -> None:
    steps = [
        {"op": "load", "spec": {"model": "/nowhere", "device": "fake"}},
        {"op": "devices"},
        {"op": "engine", "config": {"no_such_field": 1}},
        ask(chat("hi")),
    ]
    gone, devices, config, no_model = run(steps)
    assert gone["error"]["code"] == "file_not_found"
    found = {d["name"]: d for d in devices}
    assert found["cpu:0"]["found"] and not found["webgpu:0"]["found"]
    assert "no WebGPU adapter" in found["webgpu:0"]["reason"]
    assert config["error"]["param"] == "no_such_field"
    assert no_model[0]["error"]["code"] == "model_not_loaded"


# ---- A compiled model: kernels of wasm SIMD, and of WebGPU --------------------------------------


@pytest.fixture(scope="module")
def tiny(shared_folder: Path) -> Iterator[tuple[Path, MLCEngine]]:
    """A random model, its folder, and the native engine with it."""
    import tiny_models

    folder = shared_folder / "web-tiny"
    tiny_models.write_hf_folder(folder, tiny_models.random_weights())
    model = resolve_model(folder, quantization="q4f32_1", progress=lambda _: None)
    with MLCEngine(model.folder, model_lib=str(model.model_lib), device="cpu") as engine:
        yield Path(model.folder), engine


def library(folder: Path, where: Path, device: str, host: str | None = None) -> Path:
    output = where / f"{device}.wasm"
    if not output.exists():
        compile_model(read_chat_config(folder), output=output, device=device, host=host)
    return output


def spec(device: str, library: Path) -> dict[str, str]:
    return {"model": "/m", "model_lib": f"/lib/{library.name}", "device": device}


def loaded(folder: Path, library: Path, device: str) -> list[dict[str, Any]]:
    """The weights come in parts that are not in memory yet, as from a network."""
    return [
        mounted("/m", folder, later=True),
        mounted("/lib", library),
        {"op": "load", "spec": spec(device, library)},
    ]


@pytest.fixture(scope="module")
def simd(tiny: tuple[Path, MLCEngine], shared_folder: Path) -> Path:
    return library(tiny[0], shared_folder, "wasm")


def test_wasm_simd_writes_the_native_text(tiny: tuple[Path, MLCEngine], simd: Path) -> None:
    folder, engine = tiny
    asked = [chat(p) for p in PROMPTS] + [chat("hi", temperature=1, seed=7)]
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "boolean"}}}
    asked.append(chat("hi", response_format=form, debug_config={}))
    *_, answers, metrics = run([*loaded(folder, simd, "cpu"), ask(*asked), {"op": "metrics"}])
    assert texts(answers) == [native(engine, one) for one in asked]
    batches = metrics["decode_time_by_batch_size"]
    assert "count{batch_size=4}" in batches, batches


def test_without_jspi_files_must_be_in_memory(tiny: tuple[Path, MLCEngine], simd: Path) -> None:
    folder, engine = tiny
    later = loaded(folder, simd, "cpu")
    steps = [*later, mounted("/m", folder), later[-1], ask(chat("Hello"))]
    *_, refused, _, again, answers = run(steps, jspi=False)
    assert refused["error"]["code"] == "unsupported" and "JSPI" in str(refused)
    assert again is None and texts(answers) == [native(engine, chat("Hello"))]


def test_an_abort_frees_pages_and_a_load_can_follow(
    tiny: tuple[Path, MLCEngine], simd: Path
) -> None:
    folder, engine = tiny
    begin = loaded(folder, simd, "cpu")
    *_, answers, metrics, unloaded, again, after = run(
        [*begin, ask({**chat("a b", max_tokens=200), "abort_after": 2}), {"op": "metrics"},
         {"op": "unload"}, begin[-1], ask(chat("Hello"))]
    )  # fmt: skip
    assert answers[0]["error"]["code"] == "request_cancelled" and answers[0]["ends"] == 1
    assert metrics["kv_pages_free"] == metrics["kv_pages_total"]
    assert unloaded is None and again is None
    assert texts(after) == [native(engine, chat("Hello"))]


def test_loads_leave_nothing_behind(
    tiny: tuple[Path, MLCEngine], simd: Path, request: pytest.FixtureRequest
) -> None:
    folder, engine = tiny
    count = 200 if request.config.getoption("--long") else 20
    begin, heap = loaded(folder, simd, "cpu"), {"op": "heap"}
    again = [{"op": "unload"}, begin[-1]] * count
    found = run([*begin, ask(chat("Hello")), heap, *again, heap, ask(chat("Hello"))])
    assert found[-2] == found[len(begin) + 1]
    assert texts(found[-1]) == [native(engine, chat("Hello"))]


def test_damaged_files_give_typed_errors(tiny: tuple[Path, MLCEngine], simd: Path) -> None:
    folder, _ = tiny
    step = {"op": "damage", "spec": spec("cpu", simd)}
    spread = [i * 7919 for i in range(16)]
    names = ("mlc-chat-config.json", "tokenizer.json", "tensor-cache.json")
    damages = [{**step, "file": f"/m/{name}", "places": [*spread[:13], -1, -40]} for name in names]
    wrong_library = {**step, "file": f"/lib/{simd.name}", "places": [*spread, -1, -24, -1000]}
    begin = loaded(folder, simd, "cpu")
    *_, library_errors, one, two, three, whole = run(
        [*begin, wrong_library, *damages, ask(chat("Hello"))], seconds=600
    )
    assert len(library_errors) + len(one) + len(two) + len(three) == 64
    for error in library_errors:
        assert error["error"]["param"] == "model_lib", error
    for error in (*one, *two, *three):  # some changes do no harm
        assert error is None or error["error"]["code"] != "engine_failed", error
    assert any(error is not None for error in one + two + three)
    assert whole[0]["ends"] in (0, 1)


def require_gpu(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("a minute of CPU on lavapipe: --long")
    if not list(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*")):
        pytest.skip("no Vulkan driver: apt-get install mesa-vulkan-drivers")


def test_webgpu_writes_the_native_text_with_one_read_a_step(
    tiny: tuple[Path, MLCEngine], shared_folder: Path, request: pytest.FixtureRequest
) -> None:
    require_gpu(request)
    folder, engine = tiny
    gpu = library(folder, shared_folder, "webgpu", "wasm32")
    asked = [chat(p) for p in PROMPTS]
    seeded = chat("hi", temperature=1, seed=7)
    steps = [*loaded(folder, gpu, "webgpu"), {"op": "counters"}, ask(*asked), {"op": "counters"},
             {"op": "metrics"}, ask(seeded)]  # fmt: skip
    *_, before, answers, after, metrics, sampled = run(steps, gpu=True, seconds=600)
    assert texts(answers) == [native(engine, one) for one in asked]
    assert texts(sampled) == [native(engine, seeded)]
    assert after["reads"] - before["reads"] <= metrics["num_steps"]
    assert metrics["device_read_bytes_sum"] <= 16 * metrics["num_steps"]
    assert "count{batch_size=4}" in metrics["decode_time_by_batch_size"]


def test_a_lost_gpu_is_a_typed_error_and_a_load_follows(
    tiny: tuple[Path, MLCEngine], shared_folder: Path, request: pytest.FixtureRequest
) -> None:
    require_gpu(request)
    folder, engine = tiny
    gpu = library(folder, shared_folder, "webgpu", "wasm32")
    short = chat("Hello", max_tokens=4)
    begin = loaded(folder, gpu, "webgpu")
    steps = [*begin, ask(short), {"op": "lose"}, ask(short), {"op": "gpu"}, ask(short), begin[-1],
             ask(short)]  # fmt: skip
    *_, before, _, lost, _, without_load, reloaded, after = run(steps, gpu=True, seconds=600)
    assert lost[0]["error"]["code"] == without_load[0]["error"]["code"] == "device_lost"
    assert reloaded is None
    assert texts(before) == texts(after) == [native(engine, short)]
