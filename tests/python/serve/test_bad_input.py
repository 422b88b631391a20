"""What is wrong with a request, as OpenAI's API says it: status, `type`, `param`, `code`.

The words are those of its API reference and of answers that its clients have reported; what it has
no word for has the `code` null.
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from .conftest import FAKE, PATIENCE, get, running_server

CHAT, TEXT, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
HELLO = [{"role": "user", "content": "x"}]
IMAGE = {"url": "data:image/png;base64,AA=="}
SURROGATE = "\ud800"  # half of a pair, which is no text
POSTS: dict[str, dict[str, Any]] = {
    CHAT: {"messages": HELLO},
    TEXT: {"prompt": "x"},
    RESPONSES: {"input": "x"},
    "/v1/embeddings": {"input": "x"},
    "/tokenize": {"text": "x"},
    "/detokenize": {"tokens": [1]},
}


class Case(NamedTuple):
    name: str
    path: str
    body: bytes
    status: int
    param: str | None
    code: str | None


def chat(name: str, param: str | None, code: str | None, status: int = 400, **fields: Any) -> Case:
    body = json.dumps({"messages": HELLO, **fields}).encode()
    return Case(name, CHAT, body, status, param, code)


def raw(name: str, body: bytes, param: str | None, code: str | None) -> Case:
    return Case(name, CHAT, body, 400, param, code)


def other(path: str, name: str, param: str | None, code: str | None, **fields: Any) -> Case:
    return Case(f"{path} {name}", path, json.dumps(fields).encode(), 400, param, code)


def said(content: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content}]


CASES = [
    # No JSON, or not an object
    raw("empty body", b"", None, None),
    raw("no JSON", b"{", None, None),
    raw("text behind", b'{"messages": []} {}', None, None),
    raw("an array", b"[]", None, "invalid_type"),
    raw("a number", b"3", None, "invalid_type"),
    raw("invalid UTF-8", b'{"messages": [{"role": "user", "content": "\xff"}]}', None, None),
    raw("100,000 brackets", b"[" * 100_000, None, None),
    raw("deep", b'{"messages": ' + b"[" * 5000 + b"]" * 5000 + b"}", None, None),
    raw("NaN", b'{"messages": [], "temperature": NaN}', None, None),
    raw("Infinity", b'{"messages": [], "temperature": Infinity}', None, None),
    raw("a number too large", b'{"messages": [], "temperature": 1e999}', None, None),
    raw("nothing in it", b"{}", "messages", "missing_required_parameter"),
    # Types
    chat("model is a number", "model", "invalid_type", model=3),
    chat("temperature is text", "temperature", "invalid_type", temperature="hot"),
    chat("max_tokens is text", "max_tokens", "invalid_type", max_tokens="5"),
    chat("max_tokens is broken", "max_tokens", "invalid_type", max_tokens=1.5),
    chat("max_tokens is beyond 64 bits", "max_tokens", "invalid_type", max_tokens=2**70),
    chat("stream is text", "stream", "invalid_type", stream="yes"),
    chat("stop is a number", "stop", "invalid_type", stop=3),
    chat("a stop is a number", "stop[1]", "invalid_type", stop=["a", 3]),
    chat("seed is text", "seed", "invalid_type", seed="a"),
    chat("user is a number", "user", "invalid_type", user=3),
    chat("logprobs is a number", "logprobs", "invalid_type", logprobs=5),
    chat("a label is a number", "metadata.a", "invalid_type", metadata={"a": 1}),
    chat("messages is text", "messages", "invalid_type", messages="x"),
    chat("a message is text", "messages[0]", "invalid_type", messages=["x"]),
    chat("tools is an object", "tools", "invalid_type", tools={}),
    # Bounds
    chat("negative max_tokens", "max_tokens", "integer_below_min_value", max_tokens=-1),
    chat("no max_tokens", "max_tokens", "integer_below_min_value", max_tokens=0),
    chat(
        "negative max_completion_tokens", "max_completion_tokens", "integer_below_min_value",
        max_completion_tokens=-1,
    ),
    chat("hot", "temperature", "decimal_above_max_value", temperature=2.5),
    chat("cold", "temperature", "decimal_below_min_value", temperature=-1),
    chat("top_p", "top_p", "decimal_above_max_value", top_p=2),
    chat("penalty", "frequency_penalty", "decimal_above_max_value", frequency_penalty=5),
    chat("presence", "presence_penalty", "decimal_below_min_value", presence_penalty=-5),
    chat("no answers", "n", "integer_below_min_value", n=0),
    chat("huge n", "n", "integer_above_max_value", n=10**9),
    chat("129 answers", "n", "integer_above_max_value", n=129),
    chat(
        "21 logprobs", "top_logprobs", "integer_above_max_value", logprobs=True, top_logprobs=21
    ),
    chat("logprobs not asked for", "top_logprobs", None, top_logprobs=2),
    chat("1,000 stops", "stop", "array_above_max_length", stop=["a"] * 1000),
    chat("an empty stop", "stop[0]", "empty_string", stop=[""]),
    chat("bias", "logit_bias.5", "decimal_above_max_value", logit_bias={"5": 101}),
    chat("bias of no token", "logit_bias.x", "invalid_value", logit_bias={"x": 1}),
    chat("bias outside", "logit_bias.999999999", None, logit_bias={"999999999": 1}),
    chat("no messages", "messages", "empty_array", messages=[]),
    chat(
        "200 tools", "tools", "array_above_max_length",
        tools=[{"type": "function", "function": {"name": "f"}}] * 200,
    ),
    # Words
    chat("unknown model", "model", "model_not_found", 404, model="gpt-9"),
    chat(
        "unknown role", "messages[0].role", "invalid_value",
        messages=[{"role": "wizard", "content": "x"}],
    ),
    chat("no role", "messages[0].role", "missing_required_parameter", messages=[{"content": "x"}]),
    chat(
        "no content", "messages[0].content", "missing_required_parameter",
        messages=[{"role": "user"}],
    ),
    chat(
        "no call id", "messages[0].tool_call_id", "missing_required_parameter",
        messages=[{"role": "tool", "content": "x"}],
    ),
    chat(
        "unknown format", "response_format.type", "invalid_value", response_format={"type": "xml"}
    ),
    chat(
        "no schema", "response_format.json_schema", "missing_required_parameter",
        response_format={"type": "json_schema"},
    ),
    chat("unknown tool", "tools[0].type", "invalid_value", tools=[{"type": "web_search"}]),
    chat("effort", "reasoning_effort", "invalid_value", reasoning_effort="huge"),
    chat(
        "no grammar", "response_format.grammar", None,
        response_format={"type": "grammar", "grammar": "\U0001130e\x94\u00e8E=Al\U000a04be.\u00c9"},
    ),
    chat("surrogate", None, None, messages=said(SURROGATE)),
    # What is not offered
    chat(
        "image to a text model", "messages[0].content[0]", "unsupported",
        messages=said([{"type": "image_url", "image_url": IMAGE}]),
    ),
    chat(
        "sound", "messages[0].content[0].type", "invalid_value",
        messages=said([{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}]),
    ),
    chat(
        "file", "messages[0].content[0].type", "invalid_value",
        messages=said([{"type": "file", "file": {"file_id": "file-1"}}]),
    ),
    chat(
        "detail", "messages[0].content[0].image_url.detail", "invalid_value",
        messages=said([{"type": "image_url", "image_url": {**IMAGE, "detail": "ultra"}}]),
    ),
    chat(
        "no picture", "messages[0].content[0].image_url.url", "empty_string",
        messages=said([{"type": "image_url", "image_url": {"url": ""}}]),
    ),
    chat("spoken output", "modalities", "unsupported_parameter", modalities=["audio"]),
    chat("voice", "audio", "unsupported_parameter", audio={"voice": "a"}),
    chat("functions", "functions", "unsupported_parameter", functions=[{"name": "f"}]),
    chat("debug", "debug_config", "unsupported_parameter", debug_config={"ignore_eos": True}),
    # Length
    chat("too long", "messages", "context_length_exceeded", messages=said("word " * 20_000)),
    # The other routes
    other(TEXT, "no prompt", "prompt", "missing_required_parameter"),
    other(TEXT, "no text", "prompt", "empty_array", prompt=[]),
    other(TEXT, "negative token", "prompt[0]", "integer_below_min_value", prompt=[-1]),
    other(TEXT, "unknown token", "prompt", None, prompt=[10**8]),
    other(TEXT, "too long", "prompt", "context_length_exceeded", prompt="word " * 20_000),
    other(TEXT, "six logprobs", "logprobs", "integer_above_max_value", prompt="x", logprobs=6),
    other(TEXT, "suffix", "suffix", "unsupported_parameter", prompt="x", suffix="y"),
    other(TEXT, "best of", "best_of", "unsupported_parameter", prompt="x", n=3, best_of=2),
    other("/tokenize", "no text", "text", "missing_required_parameter"),
    other("/detokenize", "negative", "tokens[0]", "integer_below_min_value", tokens=[-1]),
    other("/detokenize", "unknown token", "tokens[0]", None, tokens=[10**9]),
    other(RESPONSES, "no input", "input", "missing_required_parameter"),
    other(RESPONSES, "input is a number", "input", "invalid_type", input=3),
    other(RESPONSES, "no items", "input", "empty_array", input=[]),
    other(RESPONSES, "unknown item", "input[0].type", "invalid_value", input=[{"type": "x"}]),
    other(
        RESPONSES, "no output", "input[0].output", "missing_required_parameter",
        input=[{"type": "function_call_output", "call_id": "c"}],
    ),
    other(RESPONSES, "text is an array", "text", "invalid_type", input="x", text=[]),
    other(RESPONSES, "unknown format", "text.format.type", "invalid_value",
          input="x", text={"format": {"type": "xml"}}),
    other(RESPONSES, "negative length", "max_output_tokens", "integer_below_min_value",
          input="x", max_output_tokens=-1),
    other(RESPONSES, "length beyond 64 bits", "max_output_tokens", "invalid_type",
          input="x", max_output_tokens=2**70),
    other(RESPONSES, "hot", "temperature", "decimal_above_max_value", input="x", temperature=3),
    other(RESPONSES, "unknown tool", "tools[0].type", "invalid_value",
          input="x", tools=[{"type": "web_search"}]),
    other(RESPONSES, "state", "previous_response_id", "previous_response_not_found",
          input="x", previous_response_id="resp_1"),
    other(RESPONSES, "conversation", "conversation", "unsupported_parameter",
          input="x", conversation="conv_1"),
    other(RESPONSES, "later", "background", "unsupported_parameter",
          input="x", background=True, store=False),
    other(RESPONSES, "truncation", "truncation", "invalid_value", input="x", truncation="auto"),
    other(RESPONSES, "image", "input", "unsupported",
          input=said([{"type": "input_image", "image_url": "data:image/png;base64,AA=="}])),
    other(RESPONSES, "kept file", "input[0].content[1].file_id", "unsupported_parameter",
          input=said([{"type": "input_text", "text": "x"},
                      {"type": "input_image", "file_id": "file-1", "detail": "low"}])),
    other(RESPONSES, "file", "input[0].content[0].type", "invalid_value",
          input=said([{"type": "input_file", "filename": "a.pdf", "file_data": "AA=="}])),
    other(RESPONSES, "no picture", "input[0].content[0].image_url", "empty_string",
          input=said([{"type": "input_image", "image_url": ""}])),
    other(RESPONSES, "too long", "input", "context_length_exceeded", input="word " * 20_000),
    other(RESPONSES, "surrogate", None, None, input=SURROGATE),
    # What no model can be called, on every route
    *(
        other(path, f"{name} as a model", param, code, model=model, **fields)
        for path, fields in POSTS.items()
        for name, model, param, code in (
            ("surrogate", SURROGATE, None, None),
            ("a long name", "a" * 100_000, "model", "string_above_max_length"),
        )
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def plain() -> Any:
    """A server without a key and without debug routes."""
    with running_server("--max-body-bytes", "1000000") as url:
        with httpx.Client(base_url=url, timeout=PATIENCE) as client:
            yield client


def error_of(answer: httpx.Response) -> dict[str, Any]:
    body = answer.json()
    error: dict[str, Any] = body["error"]
    assert set(error) == {"message", "type", "param", "code", "status"} and error["message"]
    # What MLC-LLM's clients read.
    mlc_llm = {"object": "error", "message": error["message"], "code": answer.status_code}
    assert body == {**mlc_llm, "error": error}
    return error


def post(http: httpx.Client, path: str, body: bytes, **headers: str) -> httpx.Response:
    return http.post(path, content=body, headers={"Content-Type": "application/json", **headers})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_table(plain: httpx.Client, case: Case) -> None:
    answer = post(plain, case.path, case.body)
    error = error_of(answer)
    got = (answer.status_code, error["type"], error["param"], error["code"])
    assert got == (case.status, "invalid_request_error", case.param, case.code), error["message"]


@pytest.mark.parametrize("case", [c for c in CASES if c.path == CHAT], ids=lambda case: case.name)
def test_a_stream_fails_with_its_status_before_it_begins(plain: httpx.Client, case: Case) -> None:
    if not case.body.startswith(b'{"messages"') or b'"stream"' in case.body:
        pytest.skip("no object to which `stream` could be added")
    answer = post(plain, CHAT, case.body[:-1] + b', "stream": true}')
    assert answer.status_code == case.status and error_of(answer)["code"] == case.code


def test_the_last_of_two_equal_keys_counts(plain: httpx.Client) -> None:
    body = json.dumps({"messages": HELLO, "max_tokens": 4, "seed": 1}).encode()
    answer = post(plain, CHAT, body[:-1] + b', "max_tokens": 2}')
    assert answer.json()["usage"]["completion_tokens"] == 2


@pytest.mark.parametrize("given", ["text/html", "multipart/form-data", "application/xml", "x"])
def test_other_content_types_are_refused(plain: httpx.Client, given: str) -> None:
    body = json.dumps({"messages": HELLO}).encode()
    for path in (CHAT, RESPONSES):
        answer = plain.post(path, content=body, headers={"Content-Type": given})
        assert answer.status_code == 400
        assert error_of(answer)["code"] == "unsupported_content_type"


def test_a_compressed_body_is_refused(plain: httpx.Client) -> None:
    body = gzip.compress(json.dumps({"messages": HELLO}).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    error = error_of(plain.post(CHAT, content=body, headers=headers))
    assert error["code"] == "unsupported_content_type"
    assert "'gzip'" in error["message"]


@pytest.mark.parametrize(
    "given", ["text/plain", "application/x-www-form-urlencoded", "application/octet-stream"]
)
def test_json_is_taken_from_programs_that_do_not_say_so(plain: httpx.Client, given: str) -> None:
    body = json.dumps({"messages": HELLO, "max_tokens": 2}).encode()
    assert plain.post(CHAT, content=body, headers={"Content-Type": given}).status_code == 200
    answer = plain.post(CHAT, content=b"messages=x", headers={"Content-Type": given})
    assert answer.status_code == 400 and "invalid JSON" in error_of(answer)["message"]


def test_json_with_a_charset_or_unsaid_is_taken(plain: httpx.Client) -> None:
    body = json.dumps({"messages": HELLO, "max_tokens": 2}).encode()
    charset = {"Content-Type": "application/json; charset=utf-8"}
    assert plain.post(CHAT, content=body, headers=charset).status_code == 200
    assert plain.post(CHAT, content=body).status_code == 200


def test_a_large_body_is_refused_announced_or_not(plain: httpx.Client) -> None:
    megabyte = b"x" * 1_000_000
    for announced in (True, True, True, False):  # the connection is not left half read
        body = megabyte * 100 if announced else (megabyte for _ in range(100))
        try:
            answer = plain.post(CHAT, content=body)
        except (httpx.NetworkError, httpx.RemoteProtocolError):
            continue  # it was closed before all was sent, which clients must expect
        assert (answer.status_code, error_of(answer)["code"]) == (413, "body_too_large")
    assert plain.get("/health").status_code == 200


def test_unknown_routes_and_methods(plain: httpx.Client) -> None:
    unknown = plain.get("/v1/nothing")
    assert (unknown.status_code, error_of(unknown)["code"]) == (404, "unknown_url")
    for path in ("/v1/chat/nothing", "/debug/reset_engine", "/admin/load"):
        assert error_of(plain.post(path))["code"] == "unknown_url"
    wrong = plain.get(CHAT)
    assert (wrong.status_code, error_of(wrong)["code"]) == (405, "method_not_supported")
    assert wrong.headers["allow"] == "POST"


def test_wrong_keys() -> None:
    wrong = ("Bearer sk-wrong", "bearer sk-wrong", "sk-right", "Basic sk-right", "Bearersk-right")
    with running_server("--api-key", "sk-right") as url:
        for given in ({}, *({"Authorization": words} for words in wrong)):
            answer = get(f"{url}/v1/models", headers=given)
            error = error_of(answer)
            assert answer.status_code == 401 and error["code"] == "invalid_api_key"
            assert "sk-right" not in answer.text and "sk-wrong" not in answer.text
        for scheme in ("Bearer", "bearer", "BEARER"):
            right = {"Authorization": f"{scheme} sk-right"}
            assert get(f"{url}/v1/models", headers=right).status_code == 200


def test_admin_faults(tmp_path: Path) -> None:
    with (
        running_server("--enable-admin") as url,
        httpx.Client(base_url=url, timeout=PATIENCE) as http,
    ):
        for body, param, code in (
            (b"{}", "model", "missing_required_parameter"),
            (b'{"model": 3}', "model", "invalid_type"),
            (b'{"model": "x", "modell": 1}', "modell", "unknown_parameter"),
            (b'{"model": "x", "\\ud800": 1}', None, None),
            (b'{"model": "\\ud800"}', None, None),
            (b'{"model": "x", "device": "\\udc00"}', None, None),
            (b'{"model": "x\\u0000y"}', "model", None),
            (b'{"model": "%s"}' % (b"a" * 100_000), "model", "string_above_max_length"),
            (b'{"model": "%s"}' % (b"a" * 300), "model", None),  # as no file can be called
        ):
            answer = post(http, "/admin/load", body)
            error = error_of(answer)
            assert (answer.status_code, error["param"], error["code"]) == (400, param, code), body
        absent = post(http, "/admin/load", b'{"model": "/no/such/model"}')
        assert absent.status_code == 404
        assert post(http, "/admin/unload", b'{"model": "nobody"}').status_code == 404
        again = json.dumps({"model": str(FAKE), "device": "fake"}).encode()
        assert post(http, "/admin/load", again).status_code == 409
        other = shutil.copytree(FAKE, tmp_path / "other")
        mode = json.dumps({"model": str(other), "device": "fake", "mode": "fast"}).encode()
        assert post(http, "/admin/load", mode).status_code == 400
