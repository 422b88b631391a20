"""Joins the chunks of an answer to the whole answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mlc_llm.types_gen import ChatCompletion, ChatCompletionChunk, ChoiceDeltaToolCall, ChunkChoice


@dataclass
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""

    def add(self, piece: ChoiceDeltaToolCall) -> None:
        self.id += piece.id or ""
        if piece.function is not None:
            self.name += piece.function.name or ""
            self.arguments += piece.function.arguments or ""

    def whole(self) -> dict[str, Any]:
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


@dataclass
class _Answer:
    content: str = ""
    reasoning: str = ""
    refusal: str = ""
    finish_reason: str = "error"
    calls: dict[int, _Call] = field(default_factory=dict[int, _Call])
    logprobs: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])

    def add(self, choice: ChunkChoice) -> None:
        delta = choice.delta
        self.content += delta.content or ""
        self.reasoning += delta.reasoning_content or ""
        self.refusal += delta.refusal or ""
        self.finish_reason = choice.finish_reason or self.finish_reason
        for piece in delta.tool_calls or []:
            self.calls.setdefault(piece.index, _Call()).add(piece)
        if choice.logprobs is not None:
            for kind in ("content", "refusal"):
                tokens = getattr(choice.logprobs, kind)
                if tokens is not None:
                    self.logprobs.setdefault(kind, []).extend(tokens)

    def whole(self, index: int) -> dict[str, Any]:
        calls = [call.whole() for _, call in sorted(self.calls.items())]
        message = {
            "role": "assistant",
            "content": None if calls and not self.content else self.content,
            "refusal": self.refusal or None,
            "reasoning_content": self.reasoning or None,
            "tool_calls": calls or None,
        }
        ends = {"finish_reason": self.finish_reason, "logprobs": self.logprobs or None}
        return {"index": index, "message": message, **ends}


class AnswerFold:
    """fold = AnswerFold()
    for chunk in stream:
        fold.add(chunk)
    completion = fold.completion()
    """

    def __init__(self) -> None:
        self._head: dict[str, Any] = {"id": "", "created": 0, "model": ""}
        self._usage: Any = None
        self._answers: dict[int, _Answer] = {}

    def add(self, chunk: ChatCompletionChunk) -> None:
        self._head = {
            "id": chunk.id,
            "created": chunk.created,
            "model": chunk.model,
            "system_fingerprint": chunk.system_fingerprint,
        }
        self._usage = chunk.usage or self._usage
        for choice in chunk.choices:
            self._answers.setdefault(choice.index, _Answer()).add(choice)

    def completion(self) -> ChatCompletion:
        answers = sorted(self._answers.items()) or [(0, _Answer())]
        choices = [answer.whole(index) for index, answer in answers]
        head = {**self._head, "object": "chat.completion", "usage": self._usage}
        return ChatCompletion.model_validate({**head, "choices": choices})
