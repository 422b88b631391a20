"""Runs the conformance vectors (tests/bindings/vectors/README.md) over the Python types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from builders import BUILDERS
from pydantic import BaseModel, TypeAdapter, ValidationError
from tool_loops import run_case

from mlc_llm import MLCEngine, MLCError, errors, types_gen
from mlc_llm.sdk.answer_fold import AnswerFold
from mlc_llm.sdk.core_engine import call_core

# The name in the schema, where the Python type has another: as in the package `openai`.
RESPONSES = {"EmbeddingResponse": "CreateEmbeddingResponse"}

MISSING = object()


class Difference(Exception):
    """A case went otherwise than it should."""


def check(what: str, got: Any, expected: Any) -> None:
    if not _equal(got, expected):
        raise Difference(f"{what}: got {got!r}, expected {expected!r}")


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


# ---- Paths -------------------------------------------------------------------------------------


def steps(path: str) -> Iterator[str | int]:
    for index, quoted, name in re.findall(r'\[(\d+)\]|\["(.*?)"\]|([^.\[]+)', path):
        yield int(index) if index else quoted or name


def without(value: Any, paths: list[str]) -> Any:
    """The JSON value with what stands at these paths removed."""
    value = json.loads(json.dumps(value))
    for path in paths:
        *way, last = steps(path)
        at = value
        for step in way:
            at = at[step] if isinstance(at, list) else at.get(step, {})
        if isinstance(at, dict):
            at.pop(last, None)
    return value


def read(value: Any, path: str) -> Any:
    """What typed access gives: attributes of models, items of lists and mappings."""
    for step in steps(path):
        if isinstance(value, BaseModel):
            value = getattr(value, _attribute(type(value), str(step)))
        elif isinstance(value, dict):
            value = value.get(str(step), value.get(step, MISSING))
        else:
            value = value[step]
        if value is MISSING:
            return None
    return value.to_dict() if isinstance(value, types_gen._Model) else value


def _attribute(model: type[BaseModel], wire: str) -> str:
    return next((n for n, f in model.model_fields.items() if (f.alias or n) == wire), wire)


# ---- Kinds -------------------------------------------------------------------------------------


class Runner:
    """Each method runs the cases of one kind and raises where one goes wrong."""

    def __init__(self, engine: MLCEngine) -> None:
        self._engine = engine
        self._adapters: dict[str, TypeAdapter[Any]] = {}

    def value(self, case: dict[str, Any]) -> None:
        decoded = self._decode(case["type"], case["use"], case["json"])
        encoded, ignore = self._encode(decoded), case["ignore"]
        if case["use"] == "request":  # a mapping holds what it was given; null means absent
            nulls = [path for path, value in case["fields"].items() if value is None]
            encoded = without(encoded, nulls)
        check("encoded", without(encoded, ignore), without(case["canonical"], ignore))
        for path, expected in case["fields"].items():
            if case["use"] == "response" or path not in ignore:
                check(path, read(decoded, path), expected)

    def invalid(self, case: dict[str, Any]) -> None:
        try:
            self._decode(case["type"], case["use"], case["json"])
        except ValidationError:
            return
        raise Difference("was decoded")

    def stream(self, case: dict[str, Any]) -> None:
        chunks = [self._decode(case["type"], "response", chunk) for chunk in case["chunks"]]
        for key, got in collect(chunks).items():
            check(key, got, case[key])
        for path, expected in case["fields"].items():
            check(path, read(chunks, path), expected)

    def error(self, case: dict[str, Any]) -> None:
        self._check_error(errors.error_from_json(case["json"]), case)

    def fault(self, case: dict[str, Any]) -> None:
        handle = self._engine._core._handle
        try:
            call_core(handle.stream, case["route"], case["body"])
        except MLCError as error:
            return self._check_error(error, case)
        raise Difference("was taken")

    def answer(self, case: dict[str, Any]) -> None:
        request = self._decode(case["type"], "request", case["json"])
        create = self._engine.chat.completions.create
        chunks = list(create(**request, stream=True, stream_options={"include_usage": True}))
        streamed = collect(chunks)
        whole = create(**request)
        assert whole.usage is not None
        for text, reason, usage in (
            (streamed["texts"], streamed["finish_reasons"], streamed["usage"]),
            (
                {str(c.index): c.message.content for c in whole.choices},
                {str(c.index): c.finish_reason for c in whole.choices},
                whole.usage.to_dict(),
            ),
        ):
            check("texts", text, case["texts"])
            check("finish_reasons", reason, case["finish_reasons"])
            check("usage", {key: usage[key] for key in case["usage"]}, case["usage"])
        fold = AnswerFold()
        for chunk in chunks:
            fold.add(chunk)
        check("put together", fold.completion().to_dict()["choices"], whole.to_dict()["choices"])

    def tools(self, case: dict[str, Any]) -> None:
        run_case(case, check, self._check_error)

    def build(self, case: dict[str, Any]) -> None:
        built, ignore = BUILDERS[case["name"]](), case["ignore"]
        check("built", without(built, ignore), without(case["json"], ignore))

    def _decode(self, name: str, use: str, value: Any) -> Any:
        if use == "response":
            model: type[BaseModel] = getattr(types_gen, RESPONSES.get(name, name))
            return model.model_validate_json(json.dumps(value))
        if name not in self._adapters:
            self._adapters[name] = TypeAdapter(getattr(types_gen, f"{name}Param"))
        return self._adapters[name].validate_python(value)

    def _encode(self, value: Any) -> Any:
        """A request is sent as it is."""
        return value.to_dict() if isinstance(value, types_gen._Model) else value

    def _check_error(self, error: MLCError, case: dict[str, Any]) -> None:
        check("error", error.to_dict()["error"], case["error"])
        check("class", type(error).__name__, case["class"]["python"])


def collect(chunks: list[types_gen.ChatCompletionChunk]) -> dict[str, Any]:
    """What a stream says, put together by choice."""
    texts: dict[str, str] = {}
    reasons: dict[str, str] = {}
    roles: dict[str, str] = {}
    calls: dict[str, list[dict[str, str]]] = {}
    usage = None
    for chunk in chunks:
        usage = chunk.usage.to_dict() if chunk.usage else usage
        for choice in chunk.choices:
            at, delta = str(choice.index), choice.delta
            if delta.content is not None:
                texts[at] = texts.get(at, "") + delta.content
            if choice.finish_reason is not None:
                reasons[at] = choice.finish_reason
            if delta.role is not None:
                roles.setdefault(at, delta.role)
            for piece in delta.tool_calls or []:
                all_calls = calls.setdefault(at, [])
                while len(all_calls) <= piece.index:
                    all_calls.append({"id": "", "name": "", "arguments": ""})
                all_calls[piece.index]["id"] += piece.id or ""
                if piece.function:
                    all_calls[piece.index]["name"] += piece.function.name or ""
                    all_calls[piece.index]["arguments"] += piece.function.arguments or ""
    ends = {"texts": texts, "finish_reasons": reasons, "roles": roles}
    return {**ends, "tool_calls": calls, "usage": usage}


def run_vectors(folder: str, engine: MLCEngine) -> dict[str, Any]:
    runner, passed, failures = Runner(engine), 0, []
    for path in sorted((Path(folder) / "cases").glob("*.json")):
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
            try:
                getattr(runner, case["kind"])(case)
                passed += 1
            except Exception as error:  # also what the runner did not expect
                why = f"{type(error).__name__}: {error}"
                failures.append({"name": case["name"], "why": why})
    return {"passed": passed, "failed": len(failures), "failures": failures}
