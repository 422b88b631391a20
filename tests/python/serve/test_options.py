"""What the command line of `mlc_llm serve` switches."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from mlc_llm.cli.serve import _for_all_models, model_specs
from mlc_llm.errors import InvalidRequestError
from mlc_llm.sdk.model_names import same_model

from .conftest import ENDLESS, FAKE, PATIENCE, get, post, running_server

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Hello"}]
LONG: dict[str, Any] = {"messages": HELLO, **ENDLESS}


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FAKE, tmp_path / "other-model"))


def test_several_models_in_one_process(other: Path) -> None:
    with running_server("--additional-models", str(other), "--enable-admin") as url:
        with httpx.Client(base_url=url, timeout=PATIENCE) as http:

            def ask(**fields: Any) -> httpx.Response:
                return http.post(CHAT, json={"messages": HELLO, "max_tokens": 3, **fields})

            names = [model["id"] for model in http.get("/v1/models").json()["data"]]
            assert names == ["fake-model", "other-model"]
            assert ask().json()["model"] == "fake-model"
            assert ask(model="other-model").json()["model"] == "other-model"
            assert ask(model=str(other)).json()["model"] == "other-model"
            assert 'mlc_llm_decode_tokens_total{model="other-model"}' in http.get("/metrics").text
            gone = http.post("/admin/unload", json={"model": "other-model"})
            assert gone.json() == {"status": "unloaded", "model": "other-model"}
            assert ask(model="other-model").status_code == 404
            loaded = http.post(
                "/admin/load",
                json={
                    "model": str(other), "device": "fake", "mode": "interactive",
                    "engine_config": {"max_num_sequence": 1},
                },
            )  # fmt: skip
            assert loaded.json()["id"] == "other-model"
            assert ask(model="other-model").status_code == 200
            again = http.post("/admin/load", json={"model": str(other), "device": "fake"})
            assert (again.status_code, again.json()["error"]["code"]) == (409, "model_exists")


def ask_as(http: httpx.Client, name: str | None) -> tuple[int, str]:
    """The status, and the name in the answer or the error's code."""
    named = {} if name is None else {"model": name}
    answer = http.post(CHAT, json={"messages": HELLO, "max_tokens": 1, **named})
    body = answer.json()
    return answer.status_code, body["model"] if answer.is_success else body["error"]["code"]


def test_names_under_which_a_model_is_served() -> None:
    with running_server("--served-model-name", "gpt-4o", "org/x") as url:
        with httpx.Client(base_url=url, timeout=PATIENCE) as http:
            ids = [model["id"] for model in http.get("/v1/models").json()["data"]]
            assert ids == ["gpt-4o", "org/x"]
            assert http.get("/v1/models/org/x").json()["id"] == "org/x"
            for name in (None, "", "gpt-4o", "org/x", str(FAKE)):
                assert ask_as(http, name) == (200, "gpt-4o"), name
            assert ask_as(http, "fake-model") == (404, "model_not_found")


def test_any_name_while_there_is_one_model(other: Path) -> None:
    with running_server("--any-model-name", "--enable-admin") as url:
        with httpx.Client(base_url=url, timeout=PATIENCE) as http:
            assert ask_as(http, "gpt-9") == (200, "fake-model")
            assert http.get("/v1/models/gpt-9").json()["id"] == "fake-model"
            assert http.post("/v1/embeddings", json={"input": "x", "model": "y"}).is_success
            loaded = http.post("/admin/load", json={"model": str(other), "device": "fake"})
            assert loaded.is_success
            assert ask_as(http, "gpt-9") == (404, "model_not_found")
            assert ask_as(http, "other-model") == (200, "other-model")


def test_a_path_that_names_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FAKE.parent)
    home = str(FAKE.parent)
    for name, argument, same in (
        ("dist/x", "dist/x/", True),
        ("./dist/x", "dist/x", True),
        (f"{home}/dist/x", "dist/x", True),
        ("dist/y/../x", "dist/x", True),
        ("x", "dist/x", False),
        ("HF://org/x", "HF://org/x", True),
        ("org/x", "HF://org/x", True),
        ("HF://org/x/", "HF://org/x", True),
        ("x", "HF://org/x", False),
        ("~nobody-of-that-name/x", "dist/x", False),
        ("dist/x\0", "dist/x", False),
    ):
        assert same_model(name, argument) is same, (name, argument)


def test_a_model_for_embeddings(other: Path) -> None:
    with running_server("--embedding-model", str(other), "--any-model-name") as url:
        names = [model["id"] for model in get(f"{url}/v1/models").json()["data"]]
        assert names == ["fake-model", "other-model"]
        answer = post(f"{url}/v1/embeddings", json={"input": "x"})
        assert (answer.status_code, answer.json()["model"]) == (200, "other-model")
        for name, model in (("ada", "other-model"), ("fake-model", "fake-model")):
            answer = post(f"{url}/v1/embeddings", json={"input": "x", "model": name})
            assert answer.json()["model"] == model
        with httpx.Client(base_url=url, timeout=PATIENCE) as http:
            assert ask_as(http, "gpt-9") == (200, "fake-model")
        chat = post(url + CHAT, json={"messages": HELLO, "max_tokens": 2})
        assert chat.json()["model"] == "fake-model"


def test_a_time_limit_for_requests() -> None:
    # So long that a request's own, shorter limit ends it first on a busy machine too.
    with running_server("--request-timeout", "2", "--enable-debug") as url:
        with httpx.Client(base_url=url, timeout=PATIENCE) as http:
            whole = http.post(CHAT, json=LONG)
            assert (whole.status_code, whole.json()["error"]["code"]) == (504, "timeout")
            assert whole.json()["error"]["type"] == "server_error"
            own = http.post(CHAT, json={**LONG, "timeout_ms": 20})
            assert (own.status_code, own.json()["error"]["code"]) == (408, "deadline_exceeded")
            assert own.headers["x-should-retry"] == "false"  # OpenAI's clients would
            events = http.post(CHAT, json={**LONG, "stream": True}).text.split("\n\n")
            assert json.loads(events[-2][6:])["error"]["code"] == "timeout"


def test_signs_of_life_on_a_silent_stream() -> None:
    options = (
        "--keep-alive", "0.05", "--overrides", "max_num_sequence=1", "--enable-debug",
        "--prefix-cache-mode", "disable",  # no turns: what is ahead keeps its place
    )  # fmt: skip
    ask = {"messages": HELLO, "stream": True, "max_tokens": 2}
    with running_server(*options) as url, httpx.Client(base_url=url, timeout=PATIENCE) as http:
        with http.stream("POST", CHAT, json={**LONG, "stream": True}) as ahead:
            lines = ahead.iter_lines()  # whose end would be the request's
            next(lines)
            with http.stream("POST", CHAT, json=ask) as answer:
                pieces = answer.iter_text()
                text = next(pieces)
                ahead.close()
                text += "".join(pieces)
    assert text.startswith(": keep-alive\n\n") and text.endswith("data: [DONE]\n\n")


def test_the_trace_of_the_engine() -> None:
    with running_server("--enable-debug", "--enable-tracing") as url:
        post(url + CHAT, json={"messages": HELLO, "max_tokens": 3})
        trace = post(f"{url}/debug/dump_event_trace").json()
        assert trace["traceEvents"]
    with running_server("--enable-debug") as url:
        refused = post(f"{url}/debug/dump_event_trace")
        assert refused.status_code in (200, 400) and "Traceback" not in refused.text
        assert post(f"{url}/debug/reset_engine").json() == {"status": "reset"}
        assert "fake-model" in post(f"{url}/debug/dump_engine_metrics").json()


def test_who_may_ask_from_a_browser() -> None:
    asked = {"Origin": "http://localhost:1", "Access-Control-Request-Method": "POST"}
    with running_server("--allow-origins", '["http://localhost:1"]', "--allow-credentials") as url:
        allowed = httpx.options(url + CHAT, headers=asked, timeout=PATIENCE)
        assert allowed.headers["access-control-allow-origin"] == "http://localhost:1"
        assert allowed.headers["access-control-allow-credentials"] == "true"
        asked["Origin"] = "http://localhost:2"
        refused = httpx.options(url + CHAT, headers=asked, timeout=PATIENCE)
        assert refused.status_code == 403


def test_modes_and_overrides_reach_the_engine() -> None:
    options = ("--mode", "server", "--overrides", "max_num_sequence=2;context_window_size=128")
    caches = ("--prefix-cache-mode", "disable", "--prefill-mode", "chunked")
    with running_server(*options, *caches) as url:
        long = post(url + CHAT, json={"messages": [{**HELLO[0], "content": "x " * 200}]})
        assert long.json()["error"]["code"] == "context_length_exceeded"
        assert "128 tokens" in long.json()["error"]["message"]
        for _ in range(2):
            body = {"messages": HELLO, "max_tokens": 2}
            usage = post(url + CHAT, json=body).json()["usage"]
        assert not (usage.get("prompt_tokens_details") or {}).get("cached_tokens")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--speculative-mode", "eagle"), "and this one was not"),
        (("--speculative-mode", "magic"), "invalid choice"),
        (("--allow-origins", "x"), "JSON list"),
        (("--overrides", "nonsense=1"), "nonsense"),
        (("--mode", "fast"), "invalid choice"),
    ],
)
def test_options_that_cannot_be(
    mlc_llm: Callable[..., Any], options: tuple[str, str], words: str
) -> None:
    done = mlc_llm("serve", FAKE, "--device", "fake", *options)
    assert done.returncode != 0 and words in done.stderr and "Traceback" not in done.stderr


def test_a_tower_without_a_model_is_refused(mlc_llm: Callable[..., Any], tmp_path: Path) -> None:
    options = ("--models-dir", str(tmp_path), "--mmproj", "tower.gguf")
    done = mlc_llm("serve", *options, "--device", "fake")
    assert done.returncode != 0 and "--mmproj names the tower of the model" in done.stderr


def test_draft_models_are_no_models_of_their_own() -> None:
    class Args:
        overrides, enable_tracing = "max_num_sequence=2", True
        speculative_mode, prefix_cache_mode, prefill_mode = "small_draft", None, None
        additional_models, model, model_lib = ["draft,lib"], "big", None
        served_model_name = ["a", "b", "a"]
        device, mode, quantization, kv_cache_dtype = "cpu", "local", None, None
        tensor_parallel_shards = None
        idle_timeout, when_idle = None, "leave"
        prefix_cache_dir, prefix_cache_dir_size = "~/kept", 1 << 30
        prefix_cache_ram = 1 << 20
        lora, lora_ranks = ["a=some/adapter"], None
        mmproj = "tower.gguf"

    (spec,) = model_specs(Args())  # type: ignore[arg-type]
    assert spec.model == "big" and spec.engine_config["additional_models"] == ["draft,lib"]
    kept = {"prefix_cache_dir": str(Path.home() / "kept"), "prefix_cache_dir_bytes": 1 << 30}
    kept["prefix_cache_ram_bytes"] = 1 << 20
    assert kept.items() <= spec.engine_config.items()
    assert spec.engine_config["enable_tracing"] is True and spec.names == ("a", "b")
    assert spec.adapters == {"a": "some/adapter"} and spec.engine_config["lora_ranks"] == 64
    Args.speculative_mode = "prompt_lookup"
    first, second = model_specs(Args())  # type: ignore[arg-type]
    assert first.engine_config["mmproj"] == "tower.gguf", "of the first model alone"
    assert "mmproj" not in second.engine_config
    Args.mmproj, Args.speculative_mode = "none", "disable"
    for spec in model_specs(Args()):  # type: ignore[arg-type]
        assert spec.engine_config["mmproj"] == "none", "of all models"
    for config in (spec.engine_config, _for_all_models(Args())):  # type: ignore[arg-type]
        assert config["speculative_mode"] == "disable", "those that requests load too"
    assert (second.model, second.model_lib, second.names) == ("draft", "lib", ())
    for wrong, words in (
        ("max_num_sequence", "write name=value"),
        ("max_num_seq=2", r"did you mean 'max_num_sequence'\?"),
    ):
        Args.overrides = wrong
        with pytest.raises(InvalidRequestError, match=words):
            model_specs(Args())  # type: ignore[arg-type]


def test_the_prefix_cache_is_there_after_a_restart(tmp_path: Path) -> None:
    body = {"prompt": "a b c d " * 100, "max_tokens": 4, "temperature": 0}
    answers = []
    for _ in range(2):
        with (
            running_server("--prefix-cache-dir", str(tmp_path / "kept")) as url,
            httpx.Client(base_url=url, timeout=PATIENCE) as http,
        ):
            answers.append(http.post("/v1/completions", json=body).json())
            metrics = http.get("/metrics").text
    first, second = (answer["usage"] for answer in answers)
    assert answers[0]["choices"] == answers[1]["choices"]
    assert not first["prompt_tokens_details"]["cached_tokens"]
    cached = second["prompt_tokens_details"]["cached_tokens"]
    assert cached == second["prompt_tokens"] - 1 > 256
    (restored,) = re.findall(r"^mlc_llm_restored_tokens_total(?:{.*})? (.*)$", metrics, re.M)
    assert float(restored) > cached
