"""What the engine costs beside the model, and what it gives with many callers.

usage: ./dev bench engine [--only fake|real] [--seconds 1] [--batch 1,16,64,256]
                          [--vocab 32000,128256] [--sampling greedy,sampled]
                          [--model MODEL] [--runs 3] [--json FILE]

`fake`: decode steps on a stand-in model whose own time is taken off (engine_bench.cc): steps a
second, microseconds a step outside of the model, and their share of a decode step of 10 ms.
`real`: time to the first token of a prompt that is new and of one that the prefix cache knows, and
tokens a second at 1 to 16 requests at once. Medians.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BINARY = Path(__file__).resolve().parents[2] / "build/dev/core/mlc_engine_bench"
DECODE_STEP_US = 10_000
TARGET_BATCH, TARGET_SHARE = 64, 0.03
CONCURRENCY = (1, 2, 4, 8, 16)
ANSWER_TOKENS = 48


def fake_cases(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    options = [f"--{name}={getattr(args, name)}" for name in ("seconds", "batch", "vocab")]
    command = [str(BINARY), *options, f"--sampling={args.sampling}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    if process.returncode != 0:
        raise SystemExit(f"{BINARY.name} ended with {process.returncode}")


def bench_fake(args: argparse.Namespace) -> list[dict[str, Any]]:
    print("Outside of the model, a decode step (stand-in model, its own time taken off)")
    print(f"{'vocab':>7} {'sampling':9} {'batch':>5} {'steps/s':>9} {'wall us':>9} {'CPU us':>9}"
          f" {'of 10 ms':>9}")  # fmt: skip
    cases = []
    for case in fake_cases(args):
        case["share_of_10ms"] = case["outside_us"] / DECODE_STEP_US
        verdict = ""
        if case["batch"] == TARGET_BATCH:
            verdict = "  ok" if case["share_of_10ms"] < TARGET_SHARE else "  over 3 %"
        print(
            f"{case['vocab']:7d} {case['sampling']:9} {case['batch']:5d} "
            f"{case['steps_per_s']:9.1f} {case['outside_us']:9.1f} {case['outside_cpu_us']:9.1f} "
            f"{case['share_of_10ms']:9.2%}{verdict}",
            flush=True,
        )
        cases.append(case)
    return cases


def question(number: int, sentences: int) -> list[dict[str, str]]:
    """A prompt that no other number gives the beginning of; a sentence is about 13 tokens."""
    text = " ".join(
        f"Entry {number * 1000 + i} of the list is about the sea and ships."
        for i in range(sentences)
    )
    return [{"role": "user", "content": text}]


def first_token(engine: Any, messages: list[dict[str, str]]) -> tuple[float, int, int]:
    """Seconds to the first token; the prompt's tokens, and how many of them were cached."""
    begin = time.perf_counter()
    stream = engine.chat.completions.create(
        messages=messages, max_tokens=2, temperature=0, stream=True,
        stream_options={"include_usage": True},
    )  # fmt: skip
    ttft, usage = 0.0, None
    for chunk in stream:
        if ttft == 0.0 and chunk.choices and chunk.choices[0].delta.content:
            ttft = time.perf_counter() - begin
        usage = chunk.usage or usage
    assert usage is not None
    details = usage.prompt_tokens_details
    return ttft, usage.prompt_tokens, (details.cached_tokens or 0) if details else 0


def bench_prefix(engine: Any, runs: int) -> dict[str, Any]:
    cold, warm, tokens, cached = [], [], 0, 0
    for run in range(runs):
        messages = question(100 + run, 40)
        seconds, tokens, _ = first_token(engine, messages)
        cold.append(seconds)
        seconds, _, cached = first_token(engine, messages)
        warm.append(seconds)
    result = {
        "prompt_tokens": tokens,
        "cached_tokens": cached,
        "cold_ttft_ms": 1e3 * statistics.median(cold),
        "warm_ttft_ms": 1e3 * statistics.median(warm),
    }
    print(f"\nTime to the first token, prompt of {tokens} tokens, median of {runs}")
    print(f"  new                     {result['cold_ttft_ms']:8.1f} ms")
    print(f"  again ({cached:4d} cached)     {result['warm_ttft_ms']:8.1f} ms")
    return result


def tokens_per_second(engine: Any, concurrency: int, seed: int) -> float:
    def ask(i: int) -> int:
        answer = engine.chat.completions.create(
            messages=question(seed * 100 + i, 8), max_tokens=ANSWER_TOKENS, seed=i,
            extra_body={"debug_config": {"ignore_eos": True}},
        )  # fmt: skip
        return int(answer.usage.completion_tokens)

    with concurrent.futures.ThreadPoolExecutor(concurrency) as pool:
        begin = time.perf_counter()
        return sum(pool.map(ask, range(concurrency))) / (time.perf_counter() - begin)


def bench_throughput(engine: Any, runs: int) -> list[dict[str, Any]]:
    print(f"\nThroughput, about 120 prompt and {ANSWER_TOKENS} answer tokens, median of {runs}")
    print("  at once   answer tok/s (all)   (each)")
    tokens_per_second(engine, CONCURRENCY[-1], 1)  # warms up every page and buffer
    rows = []
    for concurrency in CONCURRENCY:
        rates = [
            tokens_per_second(engine, concurrency, 2 + concurrency + 17 * r) for r in range(runs)
        ]
        rate = statistics.median(rates)
        rows.append({"concurrency": concurrency, "tokens_per_s": rate})
        print(f"  {concurrency:7d} {rate:20.1f} {rate / concurrency:8.1f}", flush=True)
    return rows


def bench_real(args: argparse.Namespace) -> dict[str, Any]:
    from mlc_llm import MLCEngine

    config = {"max_num_sequence": CONCURRENCY[-1], "max_total_seq_length": 16384}
    with MLCEngine(args.model, mode="server", engine_config=config) as engine:
        prefix = bench_prefix(engine, args.runs)
        return {"prefix": prefix, "throughput": bench_throughput(engine, args.runs)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("fake", "real"))
    parser.add_argument("--seconds", default="1", help="of each case on the stand-in model")
    parser.add_argument("--batch", default="1,16,64,256")
    parser.add_argument("--vocab", default="32000,128256")
    parser.add_argument("--sampling", default="greedy,sampled")
    parser.add_argument("--model", help="of the real part; the embedded model by default")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    args = parser.parse_args()
    result: dict[str, Any] = {}
    if args.only != "real":
        result["fake"] = bench_fake(args)
    if args.only != "fake":
        result["real"] = bench_real(args)
    if args.json is not None:
        args.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
