"""Ollama's form of answers: objects, or lines of JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from mlc_llm.serve.inference import AnswerFormat, cached_tokens, one_line

NDJSON = "application/x-ndjson"


def now() -> str:
    return datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")


def line(fields: Mapping[str, Any]) -> bytes:
    return one_line(json.dumps(fields, ensure_ascii=False)) + b"\n"


class _TimedAnswerFormat(AnswerFormat):
    """An answer that tells how long its model was loaded."""

    def __init__(self) -> None:
        self._begin = self._ready = time.monotonic_ns()

    def model_ready(self) -> None:
        self._ready = time.monotonic_ns()


class _TextAnswerFormat(_TimedAnswerFormat):
    """A text, made from the only choice of a chat or a completion."""

    media_type = NDJSON
    keep_alive = b""  # clients read every line as JSON

    def __init__(self, asked: Mapping[str, Any]) -> None:
        super().__init__()
        self._model = asked["model"]
        self._first: int | None = None  # when the first token came
        self._call: dict[str, Any] | None = None  # a call that is not whole yet
        self._call_index = 0
        self._finish: str | None = None
        self._usage: Mapping[str, Any] = {}
        self._prompt_seconds = 0.0  # 0: not said

    def chunk(self, text: str) -> bytes:
        chunk = json.loads(text)
        self._usage = chunk.get("usage") or self._usage
        return b"".join(self._lines(choice) for choice in chunk["choices"])

    def done(self) -> bytes:
        return self._flush() + line({**self._said("", {}), **self._end()})

    def whole(self, text: str) -> str:
        answer = json.loads(text)
        choice = answer["choices"][0]
        self._usage = answer.get("usage") or {}
        self._prompt_seconds = 1e-3 * (answer.get("timings") or {}).get("prompt_ms", 0.0)
        self._finish = choice.get("finish_reason")
        said = choice.get("message") or {"content": choice.get("text")}
        more: dict[str, Any] = _thought(said)
        if calls := said.get("tool_calls"):
            more["tool_calls"] = [_whole_call(call) for call in calls]
        fields = {**self._said(said.get("content") or "", more), **self._end()}
        return json.dumps({**fields, **_logprobs(choice)}, ensure_ascii=False)

    def error(self, text: str) -> bytes:
        return line({"error": json.loads(text)["error"]["message"]})

    def loaded(self, reason: str) -> dict[str, Any]:
        """The answer to a request that asks nothing."""
        return {**self._said("", {}), "done": True, "done_reason": reason}

    def _said(self, content: str, more: Mapping[str, Any]) -> dict[str, Any]:
        """A piece of the answer. `more`: its thoughts and calls."""
        fields = {"model": self._model, "created_at": now()}
        return {**fields, **self._members(content, more), "done": False}

    def _members(self, content: str, more: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def _lines(self, choice: Mapping[str, Any]) -> bytes:
        if self._first is None:
            self._first = time.monotonic_ns()
        self._finish = choice.get("finish_reason") or self._finish
        said = choice.get("delta") or {"content": choice.get("text")}
        out = b""
        for call in said.get("tool_calls") or ():
            out += self._take_call(call)
        content, thought = said.get("content") or "", _thought(said)
        logprobs = _logprobs(choice)
        if content or thought or logprobs:
            out += self._flush() + line({**self._said(content, thought), **logprobs})
        return out

    def _take_call(self, piece: Mapping[str, Any]) -> bytes:
        """Joins the pieces of a call: Ollama's clients get it whole."""
        out = b""
        if self._call is None or piece.get("index", 0) != self._call_index:
            out = self._flush()
            self._call = {"id": piece.get("id"), "function": {"name": "", "arguments": ""}}
            self._call_index = piece.get("index", 0)
        for name in ("name", "arguments"):
            self._call["function"][name] += (piece.get("function") or {}).get(name) or ""
        return out

    def _flush(self) -> bytes:
        """The call whose pieces have come."""
        call, self._call = self._call, None
        return b"" if call is None else line(self._said("", {"tool_calls": [_whole_call(call)]}))

    def _end(self) -> dict[str, Any]:
        now = time.monotonic_ns()
        seconds = (self._usage.get("extra") or {}).get("ttft_s", self._prompt_seconds)
        first = int(1e9 * seconds) or (self._first or self._ready) - self._ready
        first = min(first, now - self._ready)
        return {
            "done": True,
            "done_reason": "length" if self._finish == "length" else "stop",
            "total_duration": now - self._begin,
            "load_duration": self._ready - self._begin,
            "prompt_eval_count": self._usage.get("prompt_tokens", 0),
            "prompt_eval_cached_count": cached_tokens(self._usage),
            "prompt_eval_duration": first,
            "eval_count": self._usage.get("completion_tokens", 0),
            "eval_duration": max(1, now - self._ready - first),
        }


class ChatAnswerFormat(_TextAnswerFormat):
    """The answers of `/api/chat`."""

    def _members(self, content: str, more: Mapping[str, Any]) -> dict[str, Any]:
        return {"message": {"role": "assistant", "content": content, **more}}


class GenerateAnswerFormat(_TextAnswerFormat):
    """The answers of `/api/generate`."""

    def _members(self, content: str, more: Mapping[str, Any]) -> dict[str, Any]:
        return {"response": content, **more}


class EmbedAnswerFormat(_TimedAnswerFormat):
    """The answers of `/api/embed`, and of the older `/api/embeddings`."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        super().__init__()
        self._model = asked["model"]
        self._is_old = "prompt" in asked

    def whole(self, text: str) -> str:
        answer = json.loads(text)
        vectors = [entry["embedding"] for entry in answer["data"]]
        if self._is_old:
            return json.dumps({"embedding": vectors[0]})
        return json.dumps(
            {
                "model": self._model,
                "embeddings": vectors,
                "total_duration": time.monotonic_ns() - self._begin,
                "load_duration": self._ready - self._begin,
                "prompt_eval_count": answer["usage"]["prompt_tokens"],
            }
        )


def _thought(said: Mapping[str, Any]) -> dict[str, Any]:
    thought = said.get("reasoning_content")
    return {"thinking": thought} if thought else {}


def _whole_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """A call as Ollama has it: the arguments are an object."""
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"] or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        arguments = {"INVALID_JSON": function["arguments"]}
    return {"id": call.get("id"), "function": {"name": function["name"], "arguments": arguments}}


def _logprobs(choice: Mapping[str, Any]) -> dict[str, Any]:
    given = choice.get("logprobs") or {}
    if "tokens" not in given:
        content = given.get("content") or ()
        return {"logprobs": list(content)} if content else {}
    pairs = zip(given["tokens"], given["token_logprobs"], given["top_logprobs"], strict=True)
    return {
        "logprobs": [
            {
                "token": token,
                "logprob": logprob,
                "top_logprobs": [{"token": t, "logprob": p} for t, p in top.items()],
            }
            for token, logprob, top in pairs
        ]
    }
