"""What operators set: a prefix of all paths, ids of requests, logs as JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from mlc_llm.serve.app import create_app
from mlc_llm.serve.options import ServeOptions
from mlc_llm.serve.registry import ModelRegistry

from .conftest import FAKE, PATIENCE, started_server

HELLO = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 2}


def test_a_mistake_of_the_server_has_the_id_and_a_line_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "uvicorn.access")
    app = create_app(ModelRegistry(), ServeOptions())

    @app.get("/mistake")
    def mistake() -> None:
        raise ZeroDivisionError

    client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)
    answer = client.get("/mistake", headers={"X-Request-Id": "my-2"})
    assert answer.status_code == 500 and answer.headers.get_list("x-request-id") == ["my-2"]
    assert answer.json()["error"]["type"] == "server_error"
    client.get("/health?now=1")
    lines = [record.getMessage().partition(" - ")[2] for record in caplog.records]
    assert [line for line in lines if "HTTP/" in line] == [
        '"GET /mistake HTTP/1.1" 500', '"GET /health?now=1 HTTP/1.1" 200'
    ]  # fmt: skip


def test_a_prefix_ids_and_lines_of_json() -> None:
    options = ("--api-prefix", "/llm/v1/", "--log-format", "json", "--api-key", "sk")
    with started_server(str(FAKE), "--device", "fake", *options) as server:
        headers = {"Authorization": "Bearer sk"}
        with httpx.Client(base_url=server.url, headers=headers, timeout=PATIENCE) as http:
            named = {"X-Request-Id": "my-1"}
            answer = http.post("/llm/v1/v1/chat/completions", json=HELLO, headers=named)
            assert answer.is_success and answer.headers["x-request-id"] == "my-1"
            assert answer.headers["request-id"] == "my-1", "below a prefix too"
            assert http.post("/llm/v1/chat/completions", json=HELLO).is_success
            for path in ("/llm/v1/v1/models", "/llm/v1/health", "/llm/v1/v1/models/"):
                assert http.get(path).is_success, path
            assert http.get("/llm/v1").headers["location"] == "/llm/v1/"
            assert "<html" in http.get("/llm/v1/").text
            assert "/llm/v1/openapi.json" in http.get("/llm/v1/docs").text
            document = http.get("/llm/v1/openapi.json").json()
            assert document["servers"] == [{"url": "/llm/v1"}]
            for path in ("/v1/models", "/", "/health", "/llm/v1x/health", "/llm", "/llm/v1//ready"):
                assert http.get(path).status_code == 404, path
            for wrong, status in (("/llm/v1/nothing", 404), ("/llm/v1/v1/embeddings", 405)):
                answer = http.get(wrong)
                assert answer.status_code == status
                assert f" {wrong}." in answer.json()["message"]
            assert "See /llm/v1/docs." in http.get("/llm/v1/nothing").text
            made = set()
            for wrong in ("", "a b", "x" * 200, "{}\u00e9".encode("latin-1")):
                answer = http.get("/llm/v1/health", headers={"X-Request-Id": wrong})
                assert answer.headers["x-request-id"].startswith("req_")
                made.add(answer.headers["x-request-id"])
            assert len(made) == 4
            refused = httpx.get(f"{server.url}/llm/v1/v1/models", timeout=PATIENCE)
            assert refused.status_code == 401 and "x-request-id" in refused.headers
            foreign = http.get("/llm/v1/v1/models", headers={"Origin": "http://evil.test"})
            assert foreign.status_code == 403
        assert server.stop() == 0
        lines = [json.loads(line) for line in server.errors.splitlines()]
    (said,) = [line for line in lines if line.get("request_id") == "my-1"]
    assert (said["method"], said["status"]) == ("POST", 200)
    assert said["path"].endswith("/chat/completions") and said["level"] == "info"
    assert any("ready on" in line.get("message", "") for line in lines)


@pytest.mark.parametrize("prefix", ["llm", "/a b", "/../b", "/a//b", "/\u00e9", "/%2e"])
def test_prefixes_that_are_no_paths(mlc_llm: Callable[..., Any], prefix: str) -> None:
    done = mlc_llm("serve", FAKE, "--device", "fake", "--api-prefix", prefix)
    assert done.returncode != 0 and "is no path" in done.stderr and "Traceback" not in done.stderr
