"""Compiled models in headless Chromium: on wasm SIMD, and on WebGPU over SwiftShader, by the SDK in
workers over a folder of `mlc_llm package --device web`. Only `--long` runs them: minutes of CPU."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import easy_questions
import pytest
from chat_browser import WASM, Browser, opened, started
from chat_site import add_sdk, build_site
from test_web_chat_browser import visits
from test_web_engine import GREEDY, PROMPTS
from web_package import packaged

from mlc_llm import MLCEngine
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.prepare import wasm_linker
from mlc_llm.prepare.local_model import DEFAULT_MODEL
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model

HERE = Path(__file__).parent
QUESTIONS = ["What is the capital of France?", "Say hello."]
WEIGHTS = "params_shard_0.bin"
CITY = {
    "type": "object",
    "properties": {"large": {"type": "boolean"}, "port": {"enum": ["north", "south"]}},
    "required": ["large", "port"],
    "additionalProperties": False,
}

Request = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Made:
    """The models, and the site with their package."""

    tiny: ResolvedModel
    default: ResolvedModel
    site: Path

    @property
    def bundle(self) -> Path:
        return self.site / "models" / "bundle"


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    if not request.config.getoption("--long"):
        pytest.skip("compiles libraries for browsers; run with --long")
    if not WASM.is_file():
        pytest.skip("mlc_llm.wasm is not built: ./dev build web")
    if wasm_linker.find() is None:
        pytest.skip("no wasm-ld: pip install ziglang")
    import tiny_models

    folder = tmp_path_factory.mktemp("web-models")
    tiny_models.write_hf_folder(folder / "tiny", tiny_models.random_weights())
    tiny = resolve_model(folder / "tiny", quantization="q4f32_1", progress=lambda _: None)
    default = resolve_model(DEFAULT_MODEL, progress=lambda _: None)
    package = packaged(folder, default=DEFAULT_MODEL, tiny=Path(tiny.folder))
    add_sdk(package)
    build_site(package, folder / "site")
    for name in ("engines.html", "engines.js", "engine_worker.js"):
        shutil.copyfile(HERE / name, folder / "site" / name)
    return Made(tiny=tiny, default=default, site=folder / "site")


@pytest.fixture(scope="module", params=["wasm SIMD", "WebGPU"])
def page(request: pytest.FixtureRequest, made: Made) -> Iterator[Browser]:
    with opened(request, made.site, "engines.html", webgpu=request.param == "WebGPU") as browser:
        browser.kind = request.param
        yield browser


def chat(prompt: str, **more: Any) -> Request:
    return {"messages": [{"role": "user", "content": prompt}], **GREEDY, **more}


def natively(engine: MLCEngine, request: Request) -> dict[str, Any]:
    """As `answered` in engines.js."""
    choice = engine.chat.completions.create(**request).choices[0]
    calls = choice.message.tool_calls or []
    return {
        "text": choice.message.content,
        "calls": [[call.function.name, call.function.arguments] for call in calls],
        "finish": choice.finish_reason,
        "tokens": [one.token for one in choice.logprobs.content] if choice.logprobs else [],
    }


def features() -> list[list[Request]]:
    """Four at once; then one request each: greedy, seeded, logprobs, a schema."""
    form = {"type": "json_schema", "json_schema": {"name": "city", "schema": CITY}}
    alone = [
        chat("Hello"),
        chat("hi", temperature=1, seed=7),
        chat("hi", logprobs=True, top_logprobs=2, max_tokens=4),
        chat("a city", response_format=form, debug_config={}, max_tokens=60),
    ]
    return [[chat(prompt) for prompt in PROMPTS], *([one] for one in alone)]


def test_a_tiny_model_answers_as_natively(page: Browser, made: Made) -> None:
    groups = features()
    with MLCEngine(made.tiny.folder, model_lib=str(made.tiny.model_lib), device="cpu") as engine:
        expected = [[natively(engine, one) for one in group] for group in groups]
        stop = expected[1][0]["text"][4:7]
        groups.append([chat("Hello", stop=[stop])])
        expected.append([natively(engine, groups[-1][0])])
    first = page.call("asked", "tiny", groups[:1])
    metrics = first["metrics"]
    assert "count{batch_size=4}" in metrics["decode_time_by_batch_size"]
    if page.kind == "WebGPU":
        assert "swiftshader" in first["gpu"]
        assert 0 < metrics["device_read_bytes_sum"] <= 16 * metrics["num_steps"]
    found = page.call("asked", "tiny", groups[1:])
    assert [*first["answers"], *found["answers"]] == expected
    assert expected[-1][0]["finish"] == "stop"
    assert re.fullmatch(r"prefill: \d.* tokens/sec, decoding: \d.* tokens/sec", found["speed"])


def test_an_abort_in_a_worker_frees_its_pages(page: Browser, made: Made) -> None:
    long = chat("a b c", max_tokens=400, abort_after=2)
    before = page.call("asked", "tiny", [])["metrics"]["num_steps"]
    found = page.call("asked", "tiny", [[long, chat("Hello", max_tokens=4)], [chat("x")]])
    aborted, answer = found["answers"][0]
    assert aborted == {"chunks": 2, "error": "CancelledError"} and answer["finish"] == "length"
    metrics = found["metrics"]
    assert metrics["kv_pages_free"] == metrics["kv_pages_total"]
    assert metrics["num_steps"] - before < 200  # the worker heard of it in time


def test_the_default_model_answers_as_natively(page: Browser, made: Made, tmp_path: Path) -> None:
    """WebGPU's kernels have float activations, the native default has those of 16 bits."""
    folder, library = made.default.folder, made.default.model_lib
    tools = [{"type": "function", "function": {"name": "look", "parameters": CITY}}]
    tokens = 40
    if page.kind == "WebGPU":
        library, tokens = tmp_path / "native.so", 6
        compile_model(
            read_chat_config(folder), output=library, device="cpu", opt="activation_bits=32"
        )
    asked = [chat(question, max_tokens=tokens) for question in QUESTIONS]
    if page.kind == "wasm SIMD":  # a tool's prompt takes WebGPU on a CPU minutes
        asked.append(chat("Look.", tools=tools, tool_choice="required", debug_config={}))
    found = page.call("asked", "default", [asked])
    with MLCEngine(folder, model_lib=str(library), device="cpu") as engine:
        assert found["answers"] == [[natively(engine, one) for one in asked]]
    first, *_, last = found["answers"][0]
    assert "Paris" in first["text"] and (len(asked) == 2 or last["calls"][0][0] == "look")


@pytest.fixture
def simd(request: pytest.FixtureRequest, page: Browser) -> Browser:
    """WebGPU on a CPU takes a minute to load: what the browser keeps has no device."""
    if page.kind == "WebGPU":
        pytest.skip("the same on both devices")
    return page


def asked_large(page: Browser, begin: int) -> list[str]:
    """The weights and modules that the browser asked for since then."""
    return [path for path in page.site.asked[begin:] if "params_shard" in path or ".wasm" in path]


def test_a_second_visit_fetches_nothing(simd: Browser) -> None:
    simd.visit()
    begin = len(simd.site.asked)
    first = simd.call("asked", "default", [[chat(QUESTIONS[0])]])["answers"]
    assert len(asked_large(simd, begin)) == 4 + 2  # shards; the core and the library
    simd.visit(simd.origin)
    begin = len(simd.site.asked)
    assert simd.call("asked", "default", [[chat(QUESTIONS[0])]])["answers"] == first
    assert asked_large(simd, begin) == []


def test_two_tabs_share_one_download(simd: Browser) -> None:
    simd.visit()
    begin = len(simd.site.asked)
    one, two = simd.call("atOnce", "tiny")
    assert one == two
    files = asked_large(simd, begin)
    assert len(files) == len(set(files)) == 1 + 2  # a shard; the core and the library


def test_workers_that_end_load_the_default_model_again(simd: Browser) -> None:
    (before,) = simd.call("inServiceWorker", "default", ["question 0"])
    born = simd.call("born")
    simd.stop_service_workers()
    assert simd.call("again") == before and simd.call("born") != born
    assert simd.call("killed", "default") == ["worker_lost", before]


def test_no_room_and_a_wrong_byte_are_typed_errors(simd: Browser, made: Made) -> None:
    simd.visit()
    simd.limit_storage(20)
    found = simd.call("refused", "default")
    assert "QuotaError" in found["is"] and "/params_shard_" in found["message"]
    simd.limit_storage(None)
    shard = made.bundle / "default" / WEIGHTS
    whole = shard.read_bytes()
    shard.write_bytes(whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:])
    try:
        found = simd.call("refused", "default")
        assert "IntegrityError" in found["is"] and WEIGHTS in found["message"]
    finally:
        shard.write_bytes(whole)
    assert simd.call("refused", "default") is None


@pytest.mark.parametrize("backend", ["cache", "opfs"])
def test_what_a_browser_keeps_of_the_default_model(simd: Browser, backend: str) -> None:
    simd.visit()
    before, after, deleted, text = simd.call("kept", backend, "default")
    assert (before, after, deleted) == (False, True, False) and text


def test_the_chat_page_answers_without_a_network(
    request: pytest.FixtureRequest, made: Made, tmp_path: Path
) -> None:
    with started(request) as browser:
        answers = visits(made.site, browser, "default", QUESTIONS[0])
        browser.save_screenshot(str(tmp_path / "page.png"))
    assert "Paris" in answers[0] and answers == answers[:1] * 3


def test_the_packaged_default_model_answers_as_natively(simd: Browser, made: Made) -> None:
    """`mlc_llm package` keeps the types of its GGUF file: nothing is quantized a second time."""
    asked = easy_questions.requests()
    with MLCEngine(made.default.folder, model_lib=str(made.default.model_lib)) as engine:
        expected = [natively(engine, one)["text"] for one in asked]
    simd.visit()
    found = simd.call("asked", "default", [asked])["answers"][0]
    assert [one["text"] for one in found] == expected
    assert easy_questions.right(expected) == 5
