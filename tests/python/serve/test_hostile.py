"""Hostile requests to every route: no 5xx, each API's own shape of an error, a server that lives
and takes little memory.

`SOUND` has a body for each route that takes one. Each place in it, and each field that the route's
schema knows, is replaced by each of `VALUES`. `RAW` bodies are no JSON that a route could take.
Streams, names in paths, and headers are hostile in tests of their own.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest

from .conftest import FILLS_GAPS, PATIENCE, RERANKS, fake_model, started_server

MOST_KB = 200_000  # over the memory of an idle server
HELLO = [{"role": "user", "content": "x"}]
FAKE_MODEL, RERANKER = "hostile", "reranker"
SMALL = ("--overrides", "context_window_size=1024;max_num_sequence=8")
FUNCTION = {"name": "f", "description": "x", "parameters": {"type": "object", "properties": {}}}
# A body for each route, with what its API offers. The fake model answers all of them.
SOUND: dict[str, dict[str, Any]] = {
    "POST /v1/chat/completions": {
        "model": FAKE_MODEL, "messages": HELLO, "max_tokens": 2, "stop": ["z"], "seed": 1,
        "logit_bias": {"5": 1}, "tools": [{"type": "function", "function": FUNCTION}],
        "response_format": {"type": "text"}, "stream_options": {}, "tool_choice": "auto",
    },
    "POST /v1/chat/completions/input_tokens": {"messages": HELLO},
    "POST /v1/completions": {"prompt": "x", "max_tokens": 2},
    "POST /v1/embeddings": {"input": ["x"], "encoding_format": "float"},
    "POST /v1/rerank": {"model": RERANKER, "query": "x", "documents": ["a", {"text": "b"}]},
    "POST /v2/rerank": {"model": RERANKER, "query": "x", "documents": ["a", "b"]},
    "POST /v1/responses": {
        "model": FAKE_MODEL, "max_output_tokens": 2, "instructions": "x",
        "input": [{"type": "message", "role": "user",
                   "content": [{"type": "input_text", "text": "x"}]}],
        "tools": [{"type": "function", **FUNCTION}], "text": {"format": {"type": "text"}},
    },
    "POST /v1/responses/input_tokens": {"input": "x"},
    "POST /v1/messages": {
        "model": FAKE_MODEL, "max_tokens": 2, "system": [{"type": "text", "text": "x"}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "x"}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "x"}]},
        ],
        "tools": [{"name": "f", "input_schema": {"type": "object", "properties": {}}}],
        "tool_choice": {"type": "auto"}, "thinking": {"type": "disabled"}, "stop_sequences": ["z"],
    },
    "POST /v1/messages/count_tokens": {"model": FAKE_MODEL, "messages": HELLO},
    "POST /infill": {"input_prefix": "a", "input_suffix": "b", "n_predict": 2,
                     "input_extra": [{"filename": "a", "text": "x"}]},
    "POST /api/chat": {
        "model": FAKE_MODEL, "messages": HELLO, "stream": False, "keep_alive": "5m",
        "options": {"num_predict": 2, "stop": ["z"]}, "format": "", "think": False,
        "tools": [{"type": "function", "function": FUNCTION}],
    },
    "POST /api/generate": {"model": FAKE_MODEL, "prompt": "x", "options": {"num_predict": 2}},
    "POST /api/embed": {"model": FAKE_MODEL, "input": ["x"]},
    "POST /api/embeddings": {"model": FAKE_MODEL, "prompt": "x"},
    "POST /api/show": {"model": FAKE_MODEL},
    "POST /tokenize": {"text": "x"},
    "POST /detokenize": {"tokens": [1]},
    "POST /admin/load": {"model": "/no/such/model", "device": "fake", "mode": "local"},
    "POST /admin/unload": {"model": "nobody"},
    "POST /admin/prefill": {"model": FAKE_MODEL, "prompt_tokens": [1, 2]},
    "POST /v1/load_lora_adapter": {"lora_name": "x", "lora_path": "/no/such/adapter"},
    "POST /v1/unload_lora_adapter": {"lora_name": "nobody"},
    "POST /api/pull": {"model": "/no/such/model"},
    "DELETE /api/delete": {"model": "nobody"},
    "POST /debug/dump_engine_metrics": {},
    "POST /debug/dump_event_trace": {"model": FAKE_MODEL},
    "POST /debug/reset_engine": {"model": FAKE_MODEL},
}  # fmt: skip
# These name a model or an adapter that is not there, so that the test does not load or fetch any.
ABSENT = {
    "POST /admin/load", "POST /admin/unload", "POST /api/pull", "DELETE /api/delete",
    "POST /v1/load_lora_adapter", "POST /v1/unload_lora_adapter",
}  # fmt: skip
DEEP: Any = "x"
for _ in range(200):
    DEEP = [{"a": DEEP}]
VALUES: dict[str, Any] = {
    "null": None, "true": True, "zero": 0, "negative": -1, "broken": 0.5, "32 bits": 2**31,
    "63 bits": 2**63, "64 bits": 2**64, "large": 1e308, "-large": -1e308, "tiny": 5e-324,
    "400 digits": 10**400, "empty text": "", "text": "x", "NUL": "a\0b", "surrogate": "\ud800",
    "long": "x" * 70_000, "path": "../../../etc/passwd", "digits": "9" * 5000, "array": [],
    "object": {}, "nulls": [None, None], "arrays": [[[]]], "objects": [{}], "deep": DEEP,
    "many": [0] * 5000, "no name": {"": 0}, "unknown type": {"type": "x"},
    "unknown types": [{"type": "x"}], "types": [{"type": None}, {"type": 3}, {"type": []}],
    "unknown roles": [{"role": "wizard", "content": "x"}], "role": [{"role": {}, "content": []}],
    "no media": "data:image/png;base64,%%%",
}  # fmt: skip
RAW = {
    "nothing": b"", "space": b" ", "a bracket": b"{", "an array": b"[]", "null": b"null",
    "a number": b"1e400", "text": b'"x"', "NUL": b"\0", "bad UTF-8": b'{"model": "\xff\xfe"}',
    "a BOM": b"\xef\xbb\xbf{}", "UTF-16": '{"model": "x"}'.encode("utf-16"),
    "NaN": b'{"model": NaN}', "-Infinity": b'{"model": -Infinity}', "two": b"{} {}",
    "brackets": b"[" * 100_000, "deep": b'{"model":' * 20_000, "1e999": b'{"model": 1e999}',
    "a bad escape": b'{"model": "\\x"}', "half an escape": b'{"model": "\\ud8',
    "a NUL in a name": b'{"a\\u0000": 1}', "a surrogate as a name": b'{"\\udfff": 1}',
    "5,000 digits": b'{"model": ' + b"9" * 5000 + b"}",
    "megabyte": b'{"model": "' + b"x" * 1_000_001 + b'"}',
}  # fmt: skip


Headers = Sequence[tuple[str, bytes]]
JSON_TYPE = ("Content-Type", b"application/json")


class Server:
    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=PATIENCE)
        self.document = self.http.get("/openapi.json").json()
        self._validators: dict[str, Any] = {}

    def ask(self, operation: str, body: bytes, headers: Headers = (JSON_TYPE,)) -> httpx.Response:
        method, _, path = operation.partition(" ")
        whole = [(name.encode(), value) for name, value in headers]
        return self.http.request(method, path, content=body, headers=whole)

    def fault_of(self, operation: str, answer: httpx.Response) -> str | None:
        """What is wrong with an answer. None: nothing."""
        if answer.status_code >= 500:
            return f"{answer.status_code}: {answer.text[:300]}"
        method, _, path = operation.partition(" ")
        described = self.document["paths"].get(path)
        schema = {"$ref": "#/components/schemas/ErrorResponse"}
        if described is not None:
            answers = described[method.lower()]["responses"]
            if str(answer.status_code) not in answers:
                return f"{answer.status_code} is not documented: {answer.text[:300]}"
            content = answers[str(answer.status_code)]["content"]
            if answer.headers["content-type"] != "application/json":
                return None if answer.status_code == 200 else "an error that is no JSON"
            schema = content["application/json"]["schema"]
        elif answer.status_code == 200:
            return None
        try:
            self._validator(schema).validate(answer.json())
        except (ValueError, jsonschema_rs.ValidationError) as error:
            return f"{answer.status_code} has another shape: {str(error)[:200]} {answer.text[:300]}"
        return None

    def _validator(self, schema: dict[str, Any]) -> Any:
        name = json.dumps(schema)
        if name not in self._validators:
            whole = {**schema, "components": self.document["components"]}
            self._validators[name] = jsonschema_rs.validator_for(whole)
        return self._validators[name]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A model that fills gaps, and a reranker."""
    models = tmp_path_factory.mktemp("hostile") / "models"
    folder = fake_model(models / FAKE_MODEL, tokenizer=FILLS_GAPS)
    fake_model(models / RERANKER, config=RERANKS)
    with started_server(
        str(folder), "--device", "fake", "--models-dir", str(models), *SMALL,
        "--enable-admin", "--enable-debug", "--enable-tracing", "--max-body-bytes", "1000000",
    ) as running:  # fmt: skip
        server = Server(running.url)
        for operation in sorted(set(SOUND) - ABSENT):  # loads both models
            assert server.ask(operation, json.dumps(SOUND[operation]).encode()).is_success
        Path(f"/proc/{running.process.pid}/clear_refs").write_text("5")  # the peak begins here
        idle = running.resident_kb()
        yield server
        assert running.peak_kb() - idle < MOST_KB
        assert running.stop() == 0 and "Traceback" not in running.errors, running.errors


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """The way to each value in a body."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in members:
        yield (key,)
        if isinstance(member, dict | list):
            yield from ((key, *rest) for rest in places(member))


def replaced(body: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    body = copy.deepcopy(body)
    inner: Any = body
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return body


def fields_of(server: Server, operation: str) -> list[str]:
    """The fields that the schema of a route knows."""
    method, _, path = operation.partition(" ")
    described = server.document["paths"].get(path, {}).get(method.lower(), {})
    if "requestBody" not in described:
        return []
    schema = described["requestBody"]["content"]["application/json"]["schema"]
    while "$ref" in schema:
        schema = server.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return list(schema.get("properties", {}))


def expect_no_faults(server: Server, operation: str, bodies: dict[str, bytes]) -> None:
    faults = []
    for name, body in bodies.items():
        fault = server.fault_of(operation, server.ask(operation, body))
        if fault is not None:
            faults.append(f"{name}: {fault}")
    assert not faults, "\n".join(faults)
    assert server.http.get("/health").status_code == 200


def test_every_route_with_a_body_is_here(server: Server) -> None:
    described = {
        f"{method.upper()} {path}"
        for path, methods in server.document["paths"].items()
        for method, what in methods.items()
        if "requestBody" in what
    }
    assert described <= set(SOUND)


@pytest.mark.parametrize("operation", SOUND)
def test_a_sound_body_is_answered(server: Server, operation: str) -> None:
    """Else the other tests would only see the first check of a route."""
    answer = server.ask(operation, json.dumps(SOUND[operation]).encode())
    assert server.fault_of(operation, answer) is None
    assert operation in ABSENT or answer.status_code == 200, answer.text


@pytest.mark.parametrize("operation", SOUND)
def test_what_is_no_json(server: Server, operation: str) -> None:
    expect_no_faults(server, operation, RAW)


@pytest.mark.parametrize("operation", SOUND)
def test_each_value_in_each_place(
    server: Server, operation: str, request: pytest.FixtureRequest
) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("2 minutes; run with --long")
    sound = SOUND[operation]
    ways = dict.fromkeys([*places(sound), *((name,) for name in fields_of(server, operation))])
    bodies = {
        f"{place}: {name}": json.dumps(replaced(sound, place, value)).encode()
        for place in ways
        for name, value in VALUES.items()
        if not (operation in ABSENT and place == ("model",) and name != "null")
    }
    expect_no_faults(server, operation, bodies)


# The routes that stream, and what the end of each stream has.
STREAMS = {
    "POST /v1/chat/completions": r"data: \[DONE\]",
    "POST /v1/completions": r"data: \[DONE\]",
    "POST /v1/responses": r"event: response\.(completed|incomplete)",
    "POST /v1/messages": "event: message_stop",
    "POST /infill": r'"stop": ?true',
    "POST /api/chat": r'"done": ?true',
    "POST /api/generate": r'"done": ?true',
}
FAILED = r'event: error|response\.failed|"error": ?[{"]'
# Values that stand in for all: one of each kind, of which some are valid somewhere.
FEW = ("null", "true", "negative", "63 bits", "text", "long", "array", "objects", "deep")


@pytest.mark.parametrize("operation", STREAMS)
def test_streams_end_or_do_not_begin(server: Server, operation: str) -> None:
    """A hostile body is refused before its stream begins, or the stream comes to its end."""
    sound = {**SOUND[operation], "stream": True}
    bodies = {"sound": sound} | {
        f"{name}: {value}": {**sound, name: VALUES[value]}
        for name in sound
        for value in FEW
        if name != "stream"
    }
    bodies |= {
        f"stream_options: {value}": {**sound, "stream_options": VALUES[value]} for value in FEW
    }
    faults = []
    for name, body in bodies.items():
        answer = server.ask(operation, json.dumps(body).encode())
        is_stream = answer.headers["content-type"].startswith(
            ("text/event-stream", "application/x-ndjson")
        )
        if name == "sound" and not (is_stream and answer.status_code == 200):
            faults.append(f"no stream: {answer.status_code} {answer.text[:200]}")
        if not is_stream:
            fault = server.fault_of(operation, answer)
        else:
            has_end = re.search(f"{STREAMS[operation]}|{FAILED}", answer.text)
            fault = None if has_end else f"no end: {answer.text[-300:]}"
        faults += [f"{name}: {fault}"] if fault else []
    assert not faults, "\n".join(faults)
    assert server.http.get("/health").status_code == 200


NAMES = ("x", "%00", "%ff", "..%2f..%2fetc%2fpasswd", "%E2%80%AE", "a" * 8000, "%20", "null", "'--")


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST", "PUT", "PATCH", "OPTIONS", "HEAD"])
def test_names_in_paths(server: Server, method: str) -> None:
    """Those of the document, and of a route that there is not."""
    paths = [path for path in server.document["paths"] if "{" in path]
    faults = []
    for path in [*paths, "/v1/{nothing}"]:
        begin, _, rest = path.partition("{")
        for name in NAMES:
            answer = server.http.request(method, begin + name + rest.partition("}")[2])
            if answer.status_code >= 500 or answer.status_code == 200 and "/models/" not in path:
                faults.append(f"{path} {name[:30]}: {answer.status_code} {answer.text[:200]}")
    assert paths and not faults, "\n".join(faults)


HEADERS: dict[str, Headers] = {
    "another type": [("Content-Type", b"text/xml")],
    "no type": [("Content-Type", b"")],
    "a type with rubbish": [JSON_TYPE, ("Content-Type", b"application/json; charset=\xff\xfe;;=")],
    "an encoding": [("Content-Encoding", b"gzip")],
    "a key that is no text": [("Authorization", b"Bearer \xff\xfe"), ("X-Api-Key", b"\xff")],
    "a long key": [("Authorization", b"Bearer " + b"k" * 8000)],
    "an id": [("X-Request-Id", b"a" * 4000)],
    "an id with rubbish": [("X-Request-Id", b"\xff\t\xfe")],
    "what it takes": [("Accept", b"text/xml;q=\xff")],
    "a place": [("Origin", b"null"), ("Referer", b"\xff")],
    "a version": [("Anthropic-Version", b"9999-99-99"), ("Anthropic-Beta", b",,,\xff")],
    "a path": [("X-Forwarded-Prefix", b"//evil\xff"), ("X-Forwarded-For", b"\xff")],
    "many": [(f"X-{i}", b"x") for i in range(90)],
}


@pytest.mark.parametrize(
    "operation", ["POST /v1/chat/completions", "POST /v1/messages", "POST /api/chat"]
)
def test_headers(server: Server, operation: str) -> None:
    faults = []
    body = json.dumps(SOUND[operation]).encode()
    for name, headers in HEADERS.items():
        own = any(header == "Content-Type" for header, _ in headers)
        answer = server.ask(operation, body, headers if own else [JSON_TYPE, *headers])
        if answer.status_code >= 500:
            faults.append(f"{name}: {answer.status_code} {answer.text[:200]}")
    assert not faults, "\n".join(faults)
    assert server.http.get("/health").status_code == 200
