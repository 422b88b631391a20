"""llama.cpp's `/infill`: what belongs into a gap in a text. It is a completion with a suffix."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mlc_llm.sdk.sampling_gen import SAMPLING_FIELDS
from mlc_llm.serve.inference import AnswerFormat, cached_tokens
from mlc_llm.serve.translated import Translation

_SAME = (*SAMPLING_FIELDS, "stop", "stream")
_DEFAULT_LENGTH, _UNBOUNDED = 4096, 2**31 - 1


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
    fields["timings_per_token"] = True
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
        self._last: dict[str, Any] = {}

    def chunk(self, text: str) -> bytes:
        chunk = json.loads(text)
        self._take(chunk)
        out = b""
        for choice in chunk["choices"]:
            if choice["text"]:
                piece = {"content": choice["text"], "stop": False}
                out += super().chunk(json.dumps(piece))
        return out

    def done(self) -> bytes:
        return super().chunk(json.dumps({"content": "", **self._end()}))

    def whole(self, text: str) -> str:
        answer = json.loads(text)
        self._take(answer)
        (choice,) = answer["choices"]
        return json.dumps({"content": choice["text"], **self._end()})

    def translate_error(self, error: Mapping[str, Any]) -> dict[str, Any]:
        names = {"prompt": "input_prefix", "suffix": "input_suffix", "max_tokens": "n_predict"}
        param = error.get("param")
        return {**error, "param": names.get(param, param) if param else param}

    def _take(self, answer: Mapping[str, Any]) -> None:
        """Remembers what the last piece tells."""
        for part in (answer, *answer["choices"]):
            self._last |= {name: value for name, value in part.items() if value is not None}

    def _end(self) -> dict[str, Any]:
        usage = self._last.get("usage") or {}
        stop_type = "limit" if self._last.get("finish_reason") == "length" else "eos"
        return {
            "stop": True,
            "model": self._model,
            "stop_type": "word" if "stop_reason" in self._last else stop_type,
            "truncated": False,
            "tokens_evaluated": usage.get("prompt_tokens", 0),
            "tokens_cached": cached_tokens(usage),
            "tokens_predicted": usage.get("completion_tokens", 0),
            "timings": self._last["timings"],
        }


INFILL = Translation(
    "InfillRequest",
    lambda asked: ("completions", to_completion(asked)),
    InfillAnswerFormat,
)
