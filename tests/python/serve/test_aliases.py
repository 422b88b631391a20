"""Routes under other spellings, and what tools of other servers ask for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from .conftest import FAKE, PATIENCE, running_server

CHAT = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 2, "seed": 1}
KEY = "schlüssel-密钥"
DASHBOARD = Path(__file__).parents[3] / "examples" / "monitoring" / "grafana.json"


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with running_server("--api-key", KEY) as url:
        headers = {"Authorization": f"Bearer {KEY}".encode()}
        with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE) as client:
            yield client


def test_paths_with_and_without_a_version(http: httpx.Client) -> None:
    for path in ("/v1/chat/completions", "/chat/completions"):
        assert http.post(path, json=CHAT).json()["usage"]["completion_tokens"] == 2
    for path in ("/v1/models", "/models", "/v1/models/fake-model", "/models/fake-model"):
        assert "fake-model" in http.get(path).text
    for path in ("/v1/tokenize", "/tokenize", "/v1/detokenize", "/detokenize"):
        body = {"text": "x"} if path.endswith("/tokenize") else {"tokens": [1]}
        assert http.post(path, json=body).is_success
    refused = [
        http.post(path, json={"query": "x", "documents": ["y"]}).json()
        for path in ("/rerank", "/v1/rerank", "/v2/rerank")
    ]
    assert refused[0] == refused[1] == refused[2]
    assert "no reranker" in refused[0]["error"]["message"]
    for path in ("/tokenizer_info", "/tokenizer-info", "/v1/tokenizer_info", "/page_info"):
        assert http.get(path).is_success
    for path in ("/v1/v1/models", "/v3/rerank", "/_health", "/v1", "/page/"):
        assert http.get(path).json()["error"]["code"] == "unknown_url"


def test_a_slash_at_the_end_of_a_path_does_not_count(http: httpx.Client) -> None:
    for path in ("/v1/chat/completions/", "/chat/completions/"):
        assert http.post(path, json=CHAT).json()["usage"]["completion_tokens"] == 2
    for path in ("/v1/models/", "/models/", "/models/fake-model/", "/health/"):
        assert http.get(path).json() == http.get(path.rstrip("/")).json(), path
    for path in ("/v1/responses/resp_0/", "/responses/resp_0/"):
        assert "'resp_0' not found" in http.get(path).text
    for path in ("/docs/", "/openapi.json/"):
        assert http.get(path).text == http.get(path[:-1]).text
    for path in ("/v1//", "/health//"):
        assert http.get(path).json()["error"]["code"] == "unknown_url", path


def test_a_spelling_needs_the_key_of_its_route(http: httpx.Client) -> None:
    for headers in ({}, {"Authorization": "Bearer schl"}, {"Authorization": b"Bearer schl\xfc"}):
        with httpx.Client(base_url=http.base_url, headers=headers, timeout=PATIENCE) as stranger:
            for path in ("/models", "/v1/metrics", "/tokenizer-info", "/v1/models"):
                assert stranger.get(path).status_code == 401
                assert stranger.head(path).status_code == 401
            assert stranger.post("/chat/completions", json=CHAT).status_code == 401
            for path in ("/health", "/v1/health", "/ready"):
                assert stranger.get(path).status_code == 200


def test_head_is_get_without_its_body(http: httpx.Client) -> None:
    for path in ("/health", "/ready", "/v1/models", "/metrics", "/", "/page/app.js"):
        head, got = http.head(path), http.get(path)
        assert (head.status_code, head.content) == (200, b""), path
        assert head.headers["content-type"] == got.headers["content-type"]
    assert http.head("/v1/chat/completions").status_code == 405
    assert http.head("/nothing").status_code == 404


def test_an_evaluation_harness_finds_the_tokenizer(http: httpx.Client) -> None:
    info = http.get("/tokenizer_info").json()
    config = json.loads((FAKE / "tokenizer_config.json").read_text())
    assert info["eos_token"] == config["eos_token"] and info["bos_token"] is None
    assert info["chat_template"] == config["chat_template"]
    asked = {"prompt": "The sea", "add_special_tokens": False}
    tokens = http.post("/tokenize", json=asked).json()["tokens"]
    assert tokens == http.post("/tokenize", json={"text": "The sea"}).json()["tokens"]
    answer = http.post("/detokenize", json={"tokens": tokens}).json()
    assert answer["prompt"] == answer["text"] == "The sea"
    wrong = http.post("/tokenize", json={"prompt": 3}).json()["error"]
    assert wrong["param"] == "text"


def test_the_dashboard_asks_for_metrics_that_there_are(http: httpx.Client) -> None:
    assert http.post("/v1/chat/completions", json={**CHAT, "stream": True}).is_success
    text = http.get("/metrics").text
    families = {family.name: family.type for family in text_string_to_metric_families(text)}
    assert all(name.startswith("mlc_llm_") for name in families), families
    samples = {
        sample.name for family in text_string_to_metric_families(text) for sample in family.samples
    }
    counters = {f"{name}_total" for name, kind in families.items() if kind == "counter"}
    assert "mlc_llm_decode_tokens_total" in counters and "mlc_llm_kv_pages_free" in samples
    panels = json.loads(DASHBOARD.read_text())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    assert len(expressions) >= 8
    for expression in expressions:
        words = expression.replace("(", " ").replace("[", " ").replace("{", " ").split()
        names = [word for word in words if word.startswith("mlc_llm_")]
        assert names and samples.issuperset(names), expression
        rates = [name for name in names if f"rate({name}" in expression]
        assert all(name in counters or name.endswith(("_bucket", "_sum")) for name in rates)
