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
from pathlib import Path
from typing import Any

import pytest

from mlc_llm import MLCEngine

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


def run(steps: list[dict[str, Any]], *, gpu: bool = False, seconds: int = 300) -> list[Any]:
    """What driver.ts prints for a script of steps."""
    script = ROOT / "build" / "web" / f"script-{os.getpid()}.json"
    script.write_text(json.dumps({"wasm": str(WASM), "gpu": gpu, "steps": steps}))
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
