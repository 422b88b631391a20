"""The commands of tests/bindings/README.md over the sync engine."""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from pydantic import BaseModel
from runner import run_vectors

from mlc_llm import MLCEngine, MLCError

USAGE = {"include_usage": True}
LONG = {"debug_config": {"ignore_eos": True}}
ROOM = {"max_total_seq_length": 32768}
CONFIG = {"max_num_sequence": 16, "prefix_cache_mode": "disable"}


def make_engine(options: argparse.Namespace, **more: int) -> MLCEngine:
    return MLCEngine(
        options.model,
        model_lib=options.lib,
        device=options.device,
        mode="local",
        engine_config={**CONFIG, **more},
        log=lambda _: None,
    )


def ask(prompt: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": prompt}], **more}


def asked(options: argparse.Namespace) -> dict[str, Any]:
    """The request of `stream` and `complete`."""
    names = ("seed", "max_tokens", "temperature")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return ask(options.prompt, **given, **(LONG if options.ignore_eos else {}))


def read(engine: MLCEngine, request: dict[str, Any]) -> dict[str, Any]:
    """A streamed answer, put together."""
    out: dict[str, Any] = {"text": "", "finish_reason": None, "chunks": 0}
    for chunk in engine.chat.completions.create(**request, stream=True, stream_options=USAGE):
        out["chunks"] += 1
        for choice in chunk.choices:
            out["text"] += choice.delta.content or ""
            out["finish_reason"] = choice.finish_reason or out["finish_reason"]
        if chunk.usage:
            out["prompt_tokens"] = chunk.usage.prompt_tokens
            out["completion_tokens"] = chunk.usage.completion_tokens
    return out


def stream(options: argparse.Namespace) -> dict[str, Any]:
    with make_engine(options) as engine:
        return read(engine, asked(options))


def complete(options: argparse.Namespace) -> dict[str, Any]:
    with make_engine(options) as engine:
        answer = engine.chat.completions.create(**asked(options))
    assert answer.usage is not None
    return {
        "text": answer.choices[0].message.content,
        "finish_reason": answer.choices[0].finish_reason,
        "chunks": 1,
        "prompt_tokens": answer.usage.prompt_tokens,
        "completion_tokens": answer.usage.completion_tokens,
    }


def embed(options: argparse.Namespace) -> dict[str, Any]:
    with make_engine(options) as engine:
        texts = [options.prompt, f"{options.prompt} 2"]
        both = engine.embeddings.create(input=texts)
        short = engine.embeddings.create(
            input=options.prompt, dimensions=8, encoding_format="base64"
        )
    return {
        "vectors": [item.embedding for item in both.data],
        "base64": short.data[0].embedding,
        "prompt_tokens": both.usage.prompt_tokens,
    }


def rerank(options: argparse.Namespace) -> dict[str, Any]:
    documents: list[Any] = [options.prompt, f"{options.prompt} 2", {"text": "no"}]
    with make_engine(options) as engine:
        best = engine.rerank.create(
            query=options.prompt, documents=documents, top_n=2, return_documents=True
        )
        raw = engine.rerank.create(query=options.prompt, documents=documents, raw_scores=True)
    return {
        "best": [
            [item.index, item.relevance_score, item.document and item.document.text]
            for item in best.results
        ],
        "raw": [item.relevance_score for item in raw.results],
        "prompt_tokens": best.usage.prompt_tokens,
    }


def continue_text(options: argparse.Namespace) -> dict[str, Any]:
    request = {"prompt": options.prompt, "seed": options.seed, "max_tokens": options.max_tokens}
    with make_engine(options) as engine:
        chunks = list(engine.completions.create(**request, stream=True))
        whole = engine.completions.create(**request)
    return {
        "text": "".join(chunk.choices[0].text for chunk in chunks),
        "finish_reason": chunks[-1].choices[0].finish_reason,
        "whole": whole.choices[0].text,
    }


def cancel(options: argparse.Namespace) -> dict[str, Any]:
    with make_engine(options) as engine:
        request = ask(options.prompt, max_tokens=4000, seed=1, **LONG)
        chunks = 0
        with engine.chat.completions.create(**request, stream=True) as answer:
            for _ in answer:
                chunks += 1
                if chunks == 3:
                    break
        deadline = time.monotonic() + 60
        metrics = engine.metrics()
        while metrics["kv_pages_free"] != metrics["kv_pages_total"]:
            if time.monotonic() > deadline:
                break
            time.sleep(0.01)
            metrics = engine.metrics()
        after = read(engine, ask(options.prompt, max_tokens=8, seed=1))
    return {
        "chunks_before_cancel": chunks,
        "pages_total": metrics["kv_pages_total"],
        "pages_free": metrics["kv_pages_free"],
        "answer_after": after["text"],
    }


def at_once(tasks: list[Callable[[], Any]]) -> list[Any]:
    """The tasks' results, each task on a thread of its own."""
    results: list[Any] = [None] * len(tasks)

    def work(i: int) -> None:
        results[i] = tasks[i]()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def parallel(options: argparse.Namespace) -> dict[str, Any]:
    engines = at_once([lambda: make_engine(options)] * 2)

    def task(i: int) -> Callable[[], str]:
        request = ask(f"{options.prompt} {i}", max_tokens=24, seed=i)
        return lambda: str(read(engines[i // 4], request)["text"])

    texts = at_once([task(i) for i in range(8)])
    for engine in engines:
        engine.terminate()
    return {"texts": texts}


def tools(options: argparse.Namespace) -> dict[str, Any]:
    request = json.loads(options.request)
    calls: list[dict[str, str]] = []
    reason, pieces = None, 0
    with make_engine(options) as engine:
        for chunk in engine.chat.completions.create(**request | {"stream": True}):
            choice = chunk.choices[0]
            reason = choice.finish_reason or reason
            for delta in choice.delta.tool_calls or []:
                assert delta.function is not None
                if delta.id:
                    calls.append({"name": delta.function.name or "", "arguments": ""})
                elif delta.function.arguments:
                    pieces += 1
                calls[delta.index]["arguments"] += delta.function.arguments or ""
        whole = engine.chat.completions.create(**request)
    expected = [
        {"name": call.function.name, "arguments": call.function.arguments}
        for call in whole.choices[0].message.tool_calls or []
    ]
    head = {"calls": calls, "finish_reason": reason, "pieces": pieces}
    return {**head, "same": calls == expected}


class Light(BaseModel):
    room: Literal["bath", "kitchen"]
    on: bool


def run_tools(options: argparse.Namespace) -> dict[str, Any]:
    calls: list[dict[str, Any]] = []

    def switch_light(room: Literal["bath", "kitchen"], on: bool) -> str:
        """Switches a light on or off."""
        calls.append({"room": room, "on": on})
        return f"The light in the {room} is {'on' if on else 'off'}."

    request = ask(options.prompt, temperature=0, max_tokens=60)
    loop = {"tools": [switch_light], "tool_choice": "required", "max_calls": 2}
    text, results = "", []
    with make_engine(options) as engine:
        with engine.chat.completions.stream_tools(**request, **loop) as events:
            for event in events:
                if event.type == "text":
                    text += event.text
                elif event.type == "result":
                    results.append(event.result.content)
                elif event.type == "end":
                    run = event.run
        typed = engine.chat.completions.parse(**request, response_format=Light)
    light = typed.choices[0].message.parsed
    assert light is not None
    roles = [message["role"] for message in run.messages]
    ends = {"content": run.content, "roles": roles, "num_calls": run.num_calls}
    return {"calls": calls, "results": results, "text": text, **ends, "light": light.model_dump()}


def adapter(options: argparse.Namespace) -> dict[str, Any]:
    with make_engine(options, lora_ranks=16) as engine:

        def say(lora: Any = None) -> str | None:
            request = ask(options.prompt, max_tokens=8, temperature=0, lora=lora, **LONG)
            return engine.chat.completions.create(**request).choices[0].message.content

        plain = say()
        full = engine.load_adapter("style", options.adapter)
        named, scaled = say("style"), say([{"name": "style", "scale": 0}])
        listed = [[one.name, one.rank] for one in engine.adapters().adapters]
        free = [full.free_ranks, engine.unload_adapter("style").free_ranks]
        error = failure(lambda: say("style"))
    answers = {"plain": plain, "named": named, "scaled": scaled}
    return {**answers, "listed": listed, "free": free, "error": error}


def load_error(options: argparse.Namespace) -> dict[str, Any]:
    return failure(lambda: make_engine(options).terminate())


def failure(work: Callable[[], Any]) -> dict[str, Any]:
    """The typed error with which it fails, or its lack."""
    try:
        work()
    except MLCError as error:
        fields = {"type": error.type, "code": error.code, "param": error.param}
        return {**fields, "status": error.status, "message": error.message}
    return {"type": None}


def order(options: argparse.Namespace) -> dict[str, Any]:
    request = ask("order", max_tokens=options.tokens or 10000, seed=1, **LONG)
    with make_engine(options, **ROOM) as engine:
        streamed = read(engine, request)
        whole = engine.chat.completions.create(**request)
    return {
        "chunks": streamed["chunks"],
        "completion_tokens": streamed["completion_tokens"],
        "text": streamed["text"],
        "same": streamed["text"] == whole.choices[0].message.content,
    }


def bench(options: argparse.Namespace) -> dict[str, Any]:
    tokens = options.tokens or 256

    def task(engine: MLCEngine, i: int) -> Callable[[], int]:
        request = ask(f"bench {i}", max_tokens=tokens, seed=i, **LONG)

        def count() -> int:
            chunks = 0
            for chunk in engine.chat.completions.create(**request, stream=True):
                chunks += 1
                _ = chunk.choices[0].delta.content
            return chunks

        return count

    numbers = []
    with make_engine(options, **ROOM) as engine:
        tasks = [task(engine, i) for i in range(options.streams)]
        for _ in range(options.repeats + 1):
            begin = time.perf_counter()
            chunks = sum(at_once(tasks))
            numbers.append((time.perf_counter() - begin) / chunks * 1e6)
    head = {"streams": options.streams, "tokens": tokens, "chunks": chunks}
    return {**head, "us_per_chunk": numbers[1:]}


def vectors(options: argparse.Namespace) -> dict[str, Any]:
    with make_engine(options) as engine:
        return run_vectors(options.folder, engine)


COMMANDS = {
    "stream": stream,
    "complete": complete,
    "embed": embed,
    "rerank": rerank,
    "continue": continue_text,
    "cancel": cancel,
    "parallel": parallel,
    "tools": tools,
    "run-tools": run_tools,
    "adapter": adapter,
    "load-error": load_error,
    "order": order,
    "bench": bench,
    "vectors": vectors,
}


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["build", *COMMANDS])
    parser.add_argument("folder", nargs="?")
    for name, type_ in (
        ("model", str),
        ("lib", str),
        ("device", str),
        ("prompt", str),
        ("request", str),
        ("adapter", str),
    ):
        parser.add_argument(f"--{name}", type=type_)
    for name in ("seed", "max-tokens", "ignore-eos", "tokens"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--temperature", type=float)
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=9)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.command != "build":
        print(json.dumps(COMMANDS[options.command](options)))
    return 0
