"""What a shape costs: answers under a JSON schema beside free ones, and compiling.

usage: ./dev bench structured [--rounds 12] [--tokens 64] [--json FILE]

Free and guided answers of the default model take turns in one run, so that a busy machine slows
both alike. The overhead is the median over pairs, with the interval that it lies in.
Compiling is timed by an answer of one token, on a shape that is new and on one that is known.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import threading
import time
from pathlib import Path
from typing import Any

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import ResolvedModel, resolve_model

# Free and guided answers run to max_tokens.
ENTRY = {
    "type": "object",
    "properties": {"what": {"type": "string"}, "how_many": {"type": "integer"}},
    "required": ["what", "how_many"],
}
LONG = {"type": "array", "minItems": 200, "items": ENTRY}
RECORD = {
    "type": "object",
    "properties": {
        "full_name_of_the_person": {"type": "string", "maxLength": 12},
        "year_of_birth_if_known": {"type": "integer", "minimum": 1900, "maximum": 2020},
        "is_currently_employed": {"type": "boolean"},
        "preferred_contact_channel": {"enum": ["electronic mail", "telephone", "letter"]},
    },
    "required": ["full_name_of_the_person", "year_of_birth_if_known", "is_currently_employed",
                 "preferred_contact_channel"],
}  # fmt: skip


def shape(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}


def start(model: ResolvedModel, **config: Any) -> MLCEngine:
    settings = {"max_num_sequence": 16, "max_total_seq_length": 16384, **config}
    return MLCEngine(str(model.folder), model_lib=str(model.model_lib), engine_config=settings)


def answer(engine: MLCEngine, seed: int, **members: Any) -> tuple[str, float]:
    """The text, and the seconds between its tokens by the engine's clock."""
    text, latency = "", 0.0
    for chunk in engine.chat.completions.create(
        messages=[{"role": "user", "content": "Tell a long story about the sea, as JSON."}],
        stream=True, stream_options={"include_usage": True}, usage_extra=True, seed=seed,
        temperature=0.8, **members,
    ):  # fmt: skip
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
        if chunk.usage:
            latency = chunk.usage.extra["inter_token_latency_s"]
    return text, latency


def seconds_per_token(engine: MLCEngine, batch: int, tokens: int, seed: int, guided: bool) -> float:
    members: dict[str, Any] = {"max_tokens": tokens, "debug_config": {"ignore_eos": True}}
    if guided:
        members["response_format"] = shape(LONG)
    found: list[float] = []
    threads = [
        threading.Thread(
            target=lambda i=i: found.append(answer(engine, seed * 100 + i, **members)[1])
        )
        for i in range(batch)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statistics.median(found)


def median_interval(values: list[float]) -> tuple[float, float]:
    """Where the median lies, with a confidence of 95 % (the sign test's interval)."""
    ranked, n = sorted(values), len(values)
    below = max(0, math.floor((n - 1.96 * math.sqrt(n)) / 2) - 1)
    return ranked[below], ranked[n - 1 - below]


def overhead(engine: MLCEngine, batch: int, rounds: int, tokens: int) -> dict[str, float]:
    """One figure decides: the median over pairs of guided to free. What a guided token takes
    follows from it, so that the two never contradict each other on a machine that was busy for a
    while."""
    free, ratios = [], []
    for seed in range(rounds + 1):
        order = (False, True) if seed % 2 else (True, False)  # what comes second is never the same
        pair = {g: seconds_per_token(engine, batch, tokens, seed, g) for g in order}
        if seed > 0:  # the first round warms up, and compiles
            free.append(pair[False])
            ratios.append(pair[True] / pair[False])
    ratio = statistics.median(ratios)
    low, high = median_interval(ratios)
    free_ms = 1e3 * statistics.median(free)
    return {
        "free_ms": free_ms,
        "guided_ms": free_ms * ratio,
        "overhead_percent": 100 * (ratio - 1),
        "from": 100 * (low - 1),
        "to": 100 * (high - 1),
        "pairs": rounds,
    }


def schema_of(i: int) -> Any:
    names = [f"field_{i}_{k}" for k in range(2 + i % 9)]
    kinds = [
        {"type": "string", "maxLength": 9 + i},
        {"type": "integer", "minimum": i},
        {"enum": [f"value {i}", "other", None]},
        {"type": "array", "items": {"type": "number"}},
        {"type": "string", "format": "date"},
    ]
    properties = {name: kinds[(i + k) % len(kinds)] for k, name in enumerate(names)}
    return {"type": "object", "properties": properties, "required": names[::2]}


def compiling(engine: MLCEngine, count: int = 50) -> dict[str, float]:
    def first_token_ms(i: int | None) -> float:
        begin = time.perf_counter()
        members = {} if i is None else {"response_format": shape(schema_of(i))}
        answer(engine, 1, max_tokens=1, **members)
        return 1e3 * (time.perf_counter() - begin)

    for i in (None, None, 10_000):
        first_token_ms(i)
    free = statistics.median(first_token_ms(None) for _ in range(count))
    cold = sorted(first_token_ms(i) - free for i in range(count))
    known = sorted(first_token_ms(i) - free for i in range(count))
    return {"cold_ms": statistics.median(cold), "cold_most_ms": cold[-1],
            "cached_ms": statistics.median(known), "schemas": count}  # fmt: skip


def jumping(model: ResolvedModel, rounds: int) -> dict[str, float]:
    engines = [start(model, jump_forward=jump) for jump in (False, True)]
    seconds: list[list[float]] = [[], []]
    steps = [0, 0]
    for seed in range(2 * rounds + 1):
        texts = []
        for k, engine in enumerate(engines):
            before = int(engine.metrics()["num_steps"])
            begin = time.perf_counter()
            texts.append(answer(engine, seed, max_tokens=200, response_format=shape(RECORD))[0])
            if seed > 0:
                seconds[k].append(time.perf_counter() - begin)
                steps[k] += int(engine.metrics()["num_steps"]) - before
        if texts[0] != texts[1]:
            raise SystemExit(f"jumping forward changed an answer:\n{texts[0]}\n{texts[1]}")
    for engine in engines:
        engine.terminate()
    return {
        "steps_without": steps[0], "steps_with": steps[1],
        "speed_up": statistics.median(a / b for a, b in zip(*seconds, strict=True)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    model = resolve_model(None, quantization="q4f32_1")
    found: dict[str, dict[str, float]] = {}
    with start(model, jump_forward=False) as engine:  # which has a line of its own
        for batch, times in ((1, 4), (16, 1)):  # as many tokens of one as fit the time of the other
            found[f"batch {batch}"] = overhead(
                engine, batch, times * options.rounds, options.tokens
            )
        found["compiling"] = compiling(engine)
    found["jump-forward"] = jumping(model, max(1, options.rounds // 2))
    for name, values in found.items():
        print(f"{name:14}" + "  ".join(f"{key} {value:.2f}" for key, value in values.items()))
    print(json.dumps(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
