"""The OpenAPI document, and Schemathesis's requests out of it: no 5xx, no hang, valid answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from .conftest import KEY, PATIENCE, get, running_server

HEADERS = {"Authorization": f"Bearer {KEY}"}
# Without limits on what an answer may cost, 128 answers of 8,192 tokens would be asked for.
SMALL = ("--overrides", "context_window_size=256;max_num_sequence=8")


@pytest.fixture(scope="module")
def small_url() -> Iterator[str]:
    with running_server("--api-key", KEY, "--enable-admin", *SMALL) as url:
        yield url


@pytest.fixture(scope="module")
def document(small_url: str) -> Any:
    return get(f"{small_url}/openapi.json", headers=HEADERS).json()


def test_every_route_is_described(document: Any) -> None:
    assert set(document["paths"]) == {
        "/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/rerank", "/v2/rerank",
        "/v1/responses", "/v1/responses/{response_id}", "/v1/responses/{response_id}/cancel",
        "/v1/responses/{response_id}/input_items", "/v1/messages", "/v1/messages/count_tokens",
        "/tokenize",
        "/v1/chat/completions/input_tokens", "/v1/responses/input_tokens", "/infill",
        "/api/chat", "/api/generate", "/api/embed", "/api/embeddings", "/api/tags", "/api/ps",
        "/api/show", "/api/version", "/api/pull", "/api/delete",
        "/detokenize", "/v1/models", "/v1/models/{model}", "/health", "/ready", "/metrics",
        "/props",
        "/admin/load", "/admin/unload", "/v1/load_lora_adapter", "/v1/unload_lora_adapter",
        "/admin/prefill",
    }  # fmt: skip
    chat = document["paths"]["/v1/chat/completions"]["post"]
    body = chat["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    assert body == "#/components/schemas/ChatCompletionRequest"
    schema = document["components"]["schemas"]["ChatCompletionRequest"]
    assert schema["required"] == ["messages"] and len(schema["properties"]) > 30
    assert "KVSaveRequest" not in document["components"]["schemas"]
    jsonschema_rs.meta.validate(document["components"]["schemas"]["ResponseCreateRequest"])


def test_the_document_is_shown(small_url: str) -> None:
    page = get(f"{small_url}/docs")  # without the key: nothing in it is secret
    assert page.status_code == 200 and "openapi.json" in page.text
    parts = re.findall(r'(?:src|href)="([^"]*)"', page.text)
    assert len(parts) == 3 and all(part.startswith(small_url) for part in parts), parts
    assert [get(part).status_code for part in parts] == [200] * 3


def check_events(document: Any, path: str, text: str) -> None:
    """Each event of a stream is as the document says, and the stream ends as it says."""
    content = document["paths"][path]["post"]["responses"]["200"]["content"]
    data_schema = content["text/event-stream"]["itemSchema"]["properties"]["data"]
    item = data_schema.get("anyOf", [data_schema])[-1]["contentSchema"]
    schema = {**item, "components": document["components"]}
    data = [line[6:] for line in text.split("\n") if line.startswith("data: ")]
    assert data, text
    for event in data:
        if event != "[DONE]":
            jsonschema_rs.validate(schema, json.loads(event))
    if path == "/v1/responses":
        assert json.loads(data[-1])["type"].startswith("response.")
    elif path == "/v1/messages":
        assert json.loads(data[-1])["type"] in ("message_stop", "error")
    elif path == "/infill":
        assert "error" in json.loads(data[-1])  # the fake model fills no gaps
    else:
        assert data[-1] == "[DONE]" or "error" in json.loads(data[-1])


OPERATIONS = {  # how many of a thousand requests each one gets
    "POST /v1/chat/completions": 250,
    "POST /v1/completions": 170,
    "POST /v1/responses": 250,
    "GET /v1/responses/{response_id}": 20,
    "DELETE /v1/responses/{response_id}": 20,
    "POST /v1/responses/{response_id}/cancel": 20,
    "GET /v1/responses/{response_id}/input_items": 20,
    "POST /v1/messages": 200,
    "POST /v1/messages/count_tokens": 40,
    "POST /v1/chat/completions/input_tokens": 30,
    "POST /v1/responses/input_tokens": 30,
    "POST /infill": 40,
    "POST /api/chat": 150,
    "POST /api/generate": 100,
    "POST /api/embed": 40,
    "POST /api/embeddings": 20,
    "POST /api/show": 30,
    "DELETE /api/delete": 30,
    "GET /api/tags": 10,
    "GET /props": 10,
    "GET /api/ps": 10,
    "GET /api/version": 10,
    "POST /v1/embeddings": 80,
    "POST /tokenize": 70,
    "POST /detokenize": 70,
    "POST /admin/load": 40,
    "POST /v1/load_lora_adapter": 10,
    "POST /v1/unload_lora_adapter": 10,
    "POST /admin/unload": 20,
    "POST /admin/prefill": 20,
    "GET /v1/models/{model}": 50,
    "GET /v1/models": 10,
    "GET /health": 10,
    "GET /ready": 10,
    "GET /metrics": 10,
}


@pytest.mark.parametrize("label", OPERATIONS)
def test_generated_requests(
    label: str, small_url: str, document: Any, pytestconfig: pytest.Config
) -> None:
    import schemathesis  # here, as it takes a second
    from hypothesis import HealthCheck, given, settings
    from schemathesis import GenerationMode
    from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

    total = 2000 if pytestconfig.getoption("--long") else 60
    count = max(2, total * OPERATIONS[label] // 1000)
    method, _, path = label.partition(" ")
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=small_url)
    schema.config.max_stream_events = 1_000_000  # streams are read to their end
    operation = schema[path][method]
    strategies = [(operation.as_strategy(GenerationMode.POSITIVE), count)]
    if method in ("POST", "DELETE") or "{" in path:
        bad = max(1, count // 3)
        negative = operation.as_strategy(GenerationMode.NEGATIVE)
        strategies = [(strategies[0][0], count - bad), (negative, bad)]
    answers = []
    for strategy, number in strategies:

        @settings(
            max_examples=number, deadline=None, derandomize=True, database=None,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=strategy)
        def ask(case: Any) -> None:
            response = case.call(headers=HEADERS, timeout=PATIENCE)
            answers.append(response.status_code)
            case.validate_response(
                response,
                headers=HEADERS,
                excluded_checks=[negative_data_rejection, positive_data_acceptance],
            )
            if response.headers.get("content-type", [""])[0].startswith("text/event-stream"):
                assert not response.stream_cut_short, "a stream did not end in time"
                check_events(document, path, response.text)

        ask()
    assert len(answers) >= (count if len(strategies) > 1 else 1)
    assert all(status < 500 for status in answers)
