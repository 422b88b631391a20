"""Ollama's API through the official client, and its translation."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import ollama
import pytest

from mlc_llm.errors import MLCError
from mlc_llm.serve.ollama_answer import ChatAnswerFormat
from mlc_llm.serve.ollama_request import chat_request, generate_request, keep_alive

from .conftest import FAKE, KEY, PATIENCE, running_server, started_server

MODEL = "fake-model:latest"
HELLO = [{"role": "user", "content": "Hello"}]
LINE_ENDS = "a\x85b\u2028c\u2029d"  # of `str.splitlines`, which clients use
GREEDY = {"temperature": 0, "num_predict": 12, "num_ctx": 8192, "num_thread": 4}


@pytest.fixture(scope="module")
def llama(url: str) -> ollama.Client:
    return ollama.Client(host=url, headers={"Authorization": f"Bearer {KEY}"}, timeout=PATIENCE)


def test_a_chat_whole_and_streamed(llama: ollama.Client) -> None:
    whole = llama.chat(MODEL, HELLO, options=GREEDY)
    assert whole.done and whole.message.role == "assistant" and whole.message.content
    assert whole.eval_count == 12 and whole.done_reason == "length" and whole.model == MODEL
    assert whole.total_duration >= whole.prompt_eval_duration + whole.eval_duration > 0
    lines = list(llama.chat(MODEL, HELLO, options=GREEDY, stream=True))
    assert "".join(line.message.content for line in lines) == whole.message.content
    assert [line.done for line in lines] == [False] * (len(lines) - 1) + [True]
    assert lines[-1].eval_count == 12 and lines[-1].prompt_eval_count == whole.prompt_eval_count


def test_a_prompt_through_the_template_and_raw(llama: ollama.Client) -> None:
    through = llama.generate(MODEL, "Hello", options=GREEDY)
    assert through.response == llama.chat(MODEL, HELLO, options=GREEDY).message.content
    raw = llama.generate(MODEL, "Hello", raw=True, options=GREEDY)
    assert raw.response and raw.prompt_eval_count < through.prompt_eval_count
    lines = list(llama.generate(MODEL, "Hello", raw=True, options=GREEDY, stream=True))
    assert "".join(line.response for line in lines) == raw.response
    assert lines[-1].done and lines[-1].eval_count == 12


def test_options_reach_the_sampler(llama: ollama.Client) -> None:
    text = llama.chat(MODEL, HELLO, options=GREEDY).message.content
    stop = text[10:13]
    cut = llama.chat(MODEL, HELLO, options={**GREEDY, "stop": [stop]})
    assert cut.message.content == text[: text.index(stop)] and cut.done_reason == "stop"
    hot = {"temperature": 2.0, "num_predict": 20, "seed": 3}
    assert llama.chat(MODEL, HELLO, options=hot).message.content == (
        llama.chat(MODEL, HELLO, options=hot).message.content
    )


def test_formats_and_logprobs(llama: ollama.Client) -> None:
    schema = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]}
    answer = llama.chat(MODEL, HELLO, format=schema, options={"num_predict": 300})
    assert json.loads(answer.message.content)["n"] in (1, 2)
    lines = llama.chat(MODEL, HELLO, format={"const": LINE_ENDS}, stream=True)
    assert json.loads("".join(line.message.content for line in lines)) == LINE_ENDS
    begun = llama.chat(MODEL, HELLO, format="json", options=GREEDY).message.content
    assert begun.lstrip()[0] == "{"
    told = llama.generate(MODEL, "x", options=GREEDY, logprobs=True, top_logprobs=2)
    assert len(told.logprobs) == 12 and len(told.logprobs[0].top_logprobs) == 2
    raw = llama.generate(MODEL, "x", raw=True, options=GREEDY, logprobs=True, top_logprobs=2)
    assert raw.prompt_eval_duration > 0 and raw.load_duration >= 0
    parts = raw.prompt_eval_duration + raw.eval_duration + raw.load_duration
    assert parts == raw.total_duration
    assert len(raw.logprobs) == 12 and raw.logprobs[0].logprob <= 0


def weather(place: str) -> str:
    """Says how the weather is.

    Args:
      place: where
    """
    return f"Rain in {place}."


def test_tools(llama: ollama.Client) -> None:
    options = {"temperature": 0, "num_predict": 200}
    answer = llama.chat(MODEL, HELLO, tools=[weather], options=options)
    call = {"function": {"name": "weather", "arguments": {"place": "Rome"}}}
    messages = [
        *HELLO,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_name": "weather", "content": weather("Rome")},
    ]
    after = llama.chat(MODEL, messages, tools=[weather], options=options)
    assert after.done and answer.done


def test_loading_without_a_question(llama: ollama.Client) -> None:
    assert llama.generate(MODEL).done_reason == "load"
    assert llama.chat(MODEL, []).done_reason == "load"
    assert [line.done for line in llama.generate(MODEL, stream=True)] == [True]


@pytest.mark.parametrize(
    ("path", "status", "fields"),
    [
        ("chat", 200, {"prompt": "x"}),
        ("chat", 200, {"images": ["AA=="]}),
        ("generate", 200, {"messages": HELLO}),
        ("generate", 400, {"images": ["AA=="]}),  # the fake model takes none
    ],
)
def test_fields_of_the_other_route_ask_nothing(
    http: httpx.Client, path: str, status: int, fields: dict[str, Any]
) -> None:
    answer = http.post(f"/api/{path}", json={"model": MODEL, "stream": False, **fields})
    assert answer.status_code == status, answer.text
    assert status == 400 or answer.json()["done_reason"] == "load"


def test_models(llama: ollama.Client) -> None:
    (entry,) = llama.list().models
    assert entry.model == MODEL and len(entry.digest) == 64 and entry.size > 0
    shown = llama.show(MODEL)
    assert shown.capabilities == ["completion", "embedding", "tools"] and shown.template
    family = shown.modelinfo["general.architecture"]
    assert shown.modelinfo[f"{family}.context_length"] == 8192
    (running,) = llama.ps().models
    assert running.name == MODEL and running.context_length == 8192 and running.size_vram == 0


def test_a_loaded_model_whose_folder_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(FAKE, folder)
    with started_server(str(folder), "--device", "fake") as server:
        shutil.rmtree(folder)
        answer = httpx.get(f"{server.url}/api/ps", timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        assert answer.json()["models"][0]["name"] == "model:latest"


def test_async_client(url: str) -> None:
    import asyncio

    async def ask() -> str:
        client = ollama.AsyncClient(host=url, headers={"Authorization": f"Bearer {KEY}"})
        lines = await client.chat(MODEL, HELLO, options=GREEDY, stream=True)
        return "".join([line.message.content async for line in lines])

    assert asyncio.run(ask())


@pytest.mark.parametrize(
    ("path", "status", "message", "fields"),
    [
        ("chat", 400, "'model'", {"messages": HELLO, "model": None}),
        ("chat", 404, "gpt-9", {"messages": HELLO, "model": "gpt-9"}),
        ("chat", 400, "'messages[0].role'", {"messages": [{"role": "x"}]}),
        ("chat", 400, "'options.tail_free'", {"messages": HELLO, "options": {"tail_free": 1}}),
        ("chat", 400, "'options.mirostat'", {"messages": HELLO, "options": {"mirostat": 2}}),
        ("chat", 400, "'options.repeat_last_n'",
         {"messages": HELLO, "options": {"repeat_penalty": 1.1, "repeat_last_n": 64}}),
        ("chat", 400, "'options.temperature'", {"messages": HELLO, "options": {"temperature": 9}}),
        ("chat", 400, "'format'", {"messages": HELLO, "format": "xml"}),
        ("chat", 400, "'think'", {"messages": HELLO, "think": "hard"}),
        ("chat", 400, "'keep_alive'", {"messages": HELLO, "keep_alive": "soon"}),
        ("chat", 400, "'stream'", {"messages": HELLO, "stream": "yes"}),
        ("chat", 400, "no vision tower", {"messages": [{**HELLO[0], "images": ["AA=="]}]}),
        ("chat", 400, "'messages[1].images[1]'",
         {"messages": [HELLO[0], {**HELLO[0], "images": ["AA==", "cat.png"]}]}),
        ("generate", 400, "'images[0]'", {"prompt": "x", "images": [""]}),
        ("chat", 400, "context length", {"messages": [{**HELLO[0], "content": "word " * 20_000}]}),
        ("generate", 400, "'template'", {"prompt": "x", "template": "{{ .Prompt }}"}),
        ("generate", 400, "'context'", {"prompt": "x", "context": [1]}),
        ("generate", 400, "'system'", {"prompt": "x", "raw": True, "system": "y"}),
        ("generate", 400, "'suffix'", {"prompt": "x", "suffix": "y"}),
        *((path, 400, "'keep_alive'", {"input": "x", "prompt": "x", "keep_alive": "soon"})
          for path in ("embed", "embeddings")),
        ("embed", 400, "'input'", {}),
        ("embed", 400, "'dimensions'", {"input": "x", "dimensions": 10**6}),
        ("embeddings", 400, "'prompt'", {}),
        ("show", 404, "gpt-9", {"model": "gpt-9"}),
        ("show", 400, "'model'", {"model": ""}),
    ],
)  # fmt: skip
def test_faults_are_ollamas_errors(
    http: httpx.Client, path: str, status: int, message: str, fields: dict[str, Any]
) -> None:
    answer = http.post(f"/api/{path}", json={"model": MODEL, **fields})
    assert answer.status_code == status and set(answer.json()) == {"error"}, answer.text
    assert message in answer.json()["error"]


def test_bodies_that_are_none(http: httpx.Client) -> None:
    for path in ("chat", "generate", "embed", "embeddings", "show"):
        for body in (b"", b"{", b"[]", b"\0", b"[" * 100_000, b'{"model": "\xff"}'):
            answer = http.post(f"/api/{path}", content=body)
            assert answer.status_code == 400 and set(answer.json()) == {"error"}, body[:20]


def test_refusals_before_the_route(url: str) -> None:
    assert httpx.get(f"{url}/api/tags").status_code == 401
    key = {"Authorization": f"Bearer {KEY}"}
    for name, value in (("Origin", "http://evil.test"), ("Host", "evil.test")):
        answer = httpx.post(f"{url}/api/chat", json={}, headers={**key, name: value})
        assert answer.status_code == 403 and set(answer.json()) == {"error"}
    for method, path in (("POST", "pull"), ("DELETE", "delete")):  # without --enable-admin
        answer = httpx.request(method, f"{url}/api/{path}", headers=key, json={"model": "x"})
        assert answer.status_code == 404


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ollama.Client]:
    """A server that may get and remove models, in an empty home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLC_LLM_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("MLC_DOWNLOAD_CACHE_POLICY", "OFF")
        with running_server("--enable-admin") as url:
            yield ollama.Client(host=url, timeout=PATIENCE)


def test_pulling_what_is_not_there(keeper: ollama.Client) -> None:
    for name in ("no-such-model", "x\0y", "hf.co/org/repo"):
        with pytest.raises(ollama.ResponseError):
            keeper.pull(name)
        with pytest.raises(ollama.ResponseError):
            list(keeper.pull(name, stream=True))


def test_a_pull_that_fails_has_the_status_of_its_error(keeper: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError, match="no such model") as refused:
        keeper.pull("no-such-model")
    assert refused.value.status_code == 404
    with pytest.raises(ollama.ResponseError, match="no such model"):
        list(keeper.pull("no-such-model", stream=True))


def test_removing_what_is_not_kept(keeper: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError, match="is kept here") as refused:
        keeper.delete("no-such-model")
    assert refused.value.status_code == 404


# The translation


def test_calls_and_results_get_ids() -> None:
    call = {"function": {"name": "f", "arguments": {"a": 1}}}
    other = {"function": {"name": "g", "arguments": {}}}
    messages = [
        {"role": "assistant", "tool_calls": [call, other], "thinking": "Hm."},
        {"role": "tool", "tool_name": "g", "content": "2"},
        {"role": "tool", "content": "1"},
    ]
    _, chat = chat_request({"messages": messages, "stream": False})
    turn, second, first = chat["messages"]
    assert [c["id"] for c in turn["tool_calls"]] == ["call_0", "call_1"]
    assert turn["reasoning_content"] == "Hm."
    assert (second["tool_call_id"], first["tool_call_id"]) == ("call_1", "call_0")


def test_everything_is_said_in_the_chats_words() -> None:
    options = {"num_predict": -1, "repeat_penalty": 1.2, "top_k": 3, "typical_p": 1, "stop": "x"}
    asked = {"messages": HELLO, "options": options, "think": True, "format": {"type": "object"}}
    _, chat = chat_request(asked)
    assert chat["max_completion_tokens"] == 2**31 - 1 and chat["repetition_penalty"] == 1.2
    assert chat["reasoning_effort"] == "medium" and chat["stream"] is True
    assert chat["response_format"]["json_schema"]["schema"] == {"type": "object"}
    route, fields = generate_request({"prompt": "a", "suffix": "b", "stream": False})
    assert (route, fields["suffix"], fields["max_tokens"]) == ("completions", "b", 4096)
    picture = {"role": "user", "content": "?", "images": ["/9j/AA=="]}
    _, chat = chat_request({"messages": [picture]})
    assert (
        chat["messages"][0]["content"][0]["image_url"]["url"] == "data:image/jpeg;base64,/9j/AA=="
    )


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(None, None), (30, 30), (-1, -1), ("5m", 300), ("1h30m", 5400), ("-1", -1), ("1.5s", 1.5)],
)
def test_keep_alive(given: Any, seconds: float | None) -> None:
    assert keep_alive({"keep_alive": given}) == seconds
    for wrong in ("", "soon", "5 m", "m", "1h30", "٣m", "٣"):
        with pytest.raises(MLCError):
            keep_alive({"keep_alive": wrong})


def test_a_call_comes_whole() -> None:
    answer_format = ChatAnswerFormat({"model": "m"})
    pieces = [
        {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a"'}},
        {"index": 0, "function": {"arguments": ": 1}"}},
        {"index": 1, "id": "d", "function": {"name": "g", "arguments": ""}},
    ]
    out = b"".join(
        answer_format.chunk(json.dumps({"choices": [{"delta": {"tool_calls": [piece]}}]}))
        for piece in pieces
    )
    lines = [json.loads(text) for text in (out + answer_format.done()).splitlines()]
    calls = [line["message"]["tool_calls"] for line in lines if "tool_calls" in line["message"]]
    assert calls == [
        [{"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}],
        [{"id": "d", "function": {"name": "g", "arguments": {}}}],
    ]
    assert lines[-1]["done"] and lines[-1]["done_reason"] == "stop"
