"""A gap in a text: `suffix` and `/infill`, on a model with tokens for it; and counting tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema_rs
import openai
import pytest

from mlc_llm.serve.schemas import all_schemas, reference

from .conftest import FAKE, FILLS_GAPS, GAP_MARKERS, PATIENCE, fake_model, started_server

GAP = {"input_prefix": "def one():\n    ", "input_suffix": "\n\nprint(one())", "temperature": 0}


@pytest.fixture(scope="module")
def filler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """The fake model, whose tokenizer says that it fills gaps."""
    folder = fake_model(tmp_path_factory.mktemp("filler") / "filler", tokenizer=FILLS_GAPS)
    with started_server(str(folder), "--device", "fake") as server:
        with httpx.Client(base_url=server.url, timeout=PATIENCE) as http:
            yield http


def text_of(http: httpx.Client, **fields: Any) -> dict[str, Any]:
    answer = http.post("/v1/completions", json={"max_tokens": 12, "temperature": 0, **fields})
    assert answer.status_code == 200, answer.text
    choice: dict[str, Any] = answer.json()["choices"][0]
    return choice


def test_a_suffix_is_what_the_models_tokens_say(filler: httpx.Client) -> None:
    begin, behind, middle = GAP_MARKERS
    filled = text_of(filler, prompt="a = ", suffix="\nb = 2")
    assert filled == text_of(filler, prompt=f"{begin}a = {behind}\nb = 2{middle}")
    assert filled != text_of(filler, prompt="a = ")


def test_infill_whole_and_streamed(filler: httpx.Client) -> None:
    asked = {**GAP, "n_predict": 12, "input_extra": [{"filename": "a.py", "text": "x = 1"}]}
    whole = filler.post("/infill", json=asked).json()
    assert whole["stop"] and whole["content"] and whole["tokens_predicted"] <= 12
    stream = filler.post("/infill", json={**asked, "stream": True}).text
    events = [json.loads(line[6:]) for line in stream.split("\n") if line.startswith("data: ")]
    for event in (whole, *events):
        components = {"components": {"schemas": all_schemas()}}
        jsonschema_rs.validate({**reference("InfillResponse"), **components}, event)
    assert "".join(event["content"] for event in events) == whole["content"]
    assert [event["stop"] for event in events] == [False] * (len(events) - 1) + [True]
    assert events[-1]["stop_type"] == whole["stop_type"]
    for end in (whole, events[-1]):
        assert end["timings"]["predicted_n"] == end["tokens_predicted"]
    inside = filler.post(
        "/infill", json={**asked, "input_prefix": "def one():\n", "prompt": "    "}
    )
    assert inside.json()["content"] == whole["content"]


@pytest.mark.parametrize("stream", [False, True])
def test_the_end_says_whether_a_stop_text_was_reached(filler: httpx.Client, stream: bool) -> None:
    def end(**fields: Any) -> dict[str, Any]:
        text = filler.post("/infill", json={**GAP, "stream": stream, **fields}).text
        last = [line for line in text.split("\n") if line and "[DONE]" not in line][-1]
        value: dict[str, Any] = json.loads(last.removeprefix("data: "))
        return value

    assert end(n_predict=12)["stop_type"] == "limit"
    content = text_of(filler, prompt=GAP["input_prefix"], suffix=GAP["input_suffix"])["text"]
    assert end(n_predict=12, stop=content[2])["stop_type"] == "word"


def test_a_model_without_the_tokens_says_so(http: httpx.Client) -> None:
    for path, fields, param in (
        ("/v1/completions", {"prompt": "a", "suffix": "b"}, "suffix"),
        ("/infill", GAP, "input_suffix"),
    ):
        answer = http.post(path, json=fields)
        error = answer.json()["error"]
        assert (answer.status_code, error["param"]) == (400, param)
        assert error["code"] == "unsupported_parameter" and "<|fim_prefix|>" in error["message"]


@pytest.mark.parametrize(
    ("param", "fields"),
    [
        ("input_prefix", {"input_prefix": None}),
        ("input_suffix", {"input_suffix": 3}),
        ("input_extra[0].text", {"input_extra": [{}]}),
        ("n_predict", {"n_predict": -3}),
        ("temperature", {"temperature": 9}),
    ],
)
def test_faults_name_their_field(filler: httpx.Client, param: str, fields: dict[str, Any]) -> None:
    answer = filler.post("/infill", json={**GAP, **fields})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


def test_tokens_are_counted(client: openai.OpenAI, http: httpx.Client) -> None:
    said: Any = [{"role": "user", "content": "Hello"}]
    used = client.chat.completions.create(model="fake-model", messages=said, max_tokens=1).usage
    count = http.post("/v1/chat/completions/input_tokens", json={"messages": said}).json()
    assert count == {"object": "response.input_tokens", "input_tokens": used.prompt_tokens}
    told = client.responses.input_tokens.count(model="fake-model", input="Hello")
    assert told.input_tokens == used.prompt_tokens
    more = client.responses.input_tokens.count(
        model="fake-model", input="Hello", instructions="Be brief."
    )
    assert more.input_tokens > told.input_tokens
    for path in ("/v1/chat/completions/input_tokens", "/v1/responses/input_tokens"):
        assert http.post(path, json={}).status_code == 400
    beyond = [{"role": "user", "content": "word " * 20_000}]
    count = http.post("/v1/chat/completions/input_tokens", json={"messages": beyond}).json()
    assert count["input_tokens"] > 20_000


def test_the_sdk_counts() -> None:
    import asyncio

    from mlc_llm import AsyncMLCEngine, MLCEngine

    said: Any = [{"role": "user", "content": "Hello"}]
    with MLCEngine(FAKE, device="fake") as engine:
        count = engine.input_tokens(said)
        used = engine.chat.completions.create(messages=said, max_tokens=1).usage
        assert used is not None and count == used.prompt_tokens
    later = AsyncMLCEngine(FAKE, device="fake")
    assert asyncio.run(later.input_tokens(said)) == count
    later.terminate()


def test_the_key_is_wanted(url: str) -> None:
    for path in ("/infill", "/v1/responses/input_tokens", "/v1/chat/completions/input_tokens"):
        assert httpx.post(f"{url}{path}", json={}).status_code == 401
