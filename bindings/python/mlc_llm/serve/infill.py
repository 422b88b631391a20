"""llama.cpp's `/infill`: what belongs into a gap in a text. It is a completion with a suffix."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from mlc_llm.sdk.sampling_gen import SAMPLING_FIELDS
from mlc_llm.serve.inference import AnswerFormat
from mlc_llm.serve.translated import Translation

_SAME = (*SAMPLING_FIELDS, "stop", "stream")
_DEFAULT_LENGTH, _UNBOUNDED = 4096, 2**31 - 1
_STOPS = {"length": "limit", "stop": "eos"}


def to_completion(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The equivalent completion request. Texts of other files stand before the text of this one."""
    fields = {name: asked[name] for name in _SAME if asked.get(name) is not None}
    extra = [
        f"--- {one.get('filename') or 'snippet'} ---\n{one['text']}\n\n"
        for one in asked.get("input_extra") or ()
    ]
    before = [*extra, asked["input_prefix"], asked.get("prompt") or ""]
    length = asked.get("n_predict")
    if length is None:
        length = _DEFAULT_LENGTH
    fields |= {"prompt": "".join(before), "suffix": asked["input_suffix"]}
    fields["max_tokens"] = _UNBOUNDED if length < 0 else length
    if asked.get("repeat_penalty") is not None:
        fields["repetition_penalty"] = asked["repeat_penalty"]
    if fields.get("stream"):
        fields["stream_options"] = {"include_usage": True}
    return fields


class InfillAnswerFormat(AnswerFormat):
    """llama.cpp's answers: an object, or events of which the last one has `stop`."""

    def __init__(self, asked: Mapping[str, Any], model: str) -> None:
        self._model = model
        self._begin = time.monotonic()
        self._first: float | None = None
        self._finish: str | None = None
        self._usage: Mapping[str, Any] = {}

    def chunk(self, text: str) -> bytes:
        chunk = json.loads(text)
        self._first = self._first or time.monotonic()
        self._usage = chunk.get("usage") or self._usage
        out = b""
        for choice in chunk["choices"]:
            self._finish = choice.get("finish_reason") or self._finish
            if choice["text"]:
                piece = {"content": choice["text"], "stop": False}
                out += super().chunk(json.dumps(piece))
        return out

    def done(self) -> bytes:
        return super().chunk(json.dumps({"content": "", **self._end()}))

    def whole(self, text: str) -> str:
        answer = json.loads(text)
        (choice,) = answer["choices"]
        self._usage, self._finish = answer.get("usage") or {}, choice["finish_reason"]
        return json.dumps({"content": choice["text"], **self._end()})

    def translate_error(self, error: Mapping[str, Any]) -> dict[str, Any]:
        names = {"prompt": "input_prefix", "suffix": "input_suffix", "max_tokens": "n_predict"}
        param = error.get("param")
        return {**error, "param": names.get(param, param) if param else param}

    def _end(self) -> dict[str, Any]:
        now = time.monotonic()
        first = self._first or self._begin
        read, written = 1e3 * (first - self._begin), 1e3 * (now - first)
        usage = self._usage
        prompt, answer = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        return {
            "stop": True,
            "model": self._model,
            "stop_type": _STOPS.get(self._finish or "", "eos"),
            "truncated": False,
            "tokens_evaluated": prompt,
            "tokens_cached": cached,
            "tokens_predicted": answer,
            "timings": {
                "prompt_n": prompt - cached,
                "prompt_ms": read,
                "predicted_n": answer,
                "predicted_ms": written,
                "predicted_per_second": 1e3 * answer / written if written > 0 else 0.0,
            },
        }


INFILL = Translation(
    "InfillRequest",
    lambda asked: ("completions", to_completion(asked)),
    InfillAnswerFormat,
)
