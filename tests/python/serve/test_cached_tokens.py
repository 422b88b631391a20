"""How much of a prompt was cached, in every protocol that says it, whole and streamed: the same
number for the same prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from .conftest import FILLS_GAPS, PATIENCE, fake_model, started_server

SAID = [{"role": "user", "content": "one two three " * 20}]
# Of each protocol: its route, a request, and where its usage says how long the prompt is and how
# much of it was cached. Anthropic's input_tokens are those that were not.
ROUTES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "chat": ("/v1/chat/completions", {"messages": SAID, "max_tokens": 4}, None),
    "completions": ("/v1/completions", {"prompt": "one two " * 30, "max_tokens": 4}, None),
    "responses": (
        "/v1/responses",
        {"input": SAID, "max_output_tokens": 16},
        lambda u: (u["input_tokens"], u["input_tokens_details"]["cached_tokens"]),
    ),
    "messages": (
        "/v1/messages",
        {"messages": SAID, "max_tokens": 4},
        lambda u: (
            u["input_tokens"] + u["cache_read_input_tokens"],
            u["cache_read_input_tokens"],
        ),
    ),
    "infill": (
        "/infill",
        {"input_prefix": "one two " * 30, "input_suffix": "x", "n_predict": 4},
        None,
    ),
    "ollama": ("/api/chat", {"messages": SAID, "options": {"num_predict": 4}}, None),
}


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    model = fake_model(tmp_path_factory.mktemp("fills") / "fake-model", tokenizer=FILLS_GAPS)
    with (
        started_server(str(model), "--device", "fake") as server,
        httpx.Client(base_url=server.url, timeout=PATIENCE) as http,
    ):
        yield http


def counted(name: str, answer: dict[str, Any]) -> tuple[int, int]:
    """The length of the prompt, and what of it was cached."""
    if name == "infill":
        return answer["tokens_evaluated"], answer["tokens_cached"]
    if name == "ollama":
        return answer["prompt_eval_count"], answer["prompt_eval_cached_count"]
    usage = answer["usage"]
    if where := ROUTES[name][2]:
        found: tuple[int, int] = where(usage)
        return found
    details = usage.get("prompt_tokens_details") or {}
    return usage["prompt_tokens"], details.get("cached_tokens") or 0


def last_of(text: str) -> dict[str, Any]:
    """The last event of a stream that counts tokens."""
    found: dict[str, Any] = {}
    for line in text.splitlines():
        line = line.removeprefix("data: ")
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        inner = event.get("response") or event.get("message") or event  # of OpenAI, of Anthropic
        event = inner if "usage" in inner else event
        if event.get("usage") or {"tokens_cached", "prompt_eval_count"} & event.keys():
            found = {**event, "usage": {**found.get("usage", {}), **(event.get("usage") or {})}}
    return found


@pytest.mark.parametrize("name", ROUTES)
def test_a_prompt_that_comes_again_is_counted_as_cached(http: httpx.Client, name: str) -> None:
    route, body, _ = ROUTES[name]
    found = []
    for stream in (False, False, True):
        asked = {**body, "model": "fake-model", "stream": stream}
        if stream and name in ("chat", "completions"):
            asked["stream_options"] = {"include_usage": True}
        answer = http.post(route, json=asked)
        assert answer.status_code == 200, answer.text
        found.append(counted(name, last_of(answer.text) if stream else answer.json()))
    (length, _), *others = found
    assert length > 32
    for again in others:
        assert again == (length, length - 1), "all but the last token, whose row is needed"
