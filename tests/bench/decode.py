"""Speed of one conversation: prefill, decode and start, beside what the memory bus allows.

usage: ./dev bench decode [--model MODEL] [--quantization q4f32_1] [--runs 5] [--tokens 64]

Decode reads every weight once a token, so read bandwidth / bytes of weights bounds it. Bandwidth is
measured in the same run, by as many threads, between the runs of the model; medians are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path

import mlc_core_parts
import numpy as np

from mlc_llm.compiler.machine_limits import read_bandwidth
from mlc_llm.prepare.model_source import resolve_model

PROMPT_TOKENS = 128


def weight_bytes(folder: Path) -> int:
    index = json.loads((folder / "tensor-cache.json").read_text())
    return int(index["metadata"]["ParamBytes"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--quantization", default="q4f32_1")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=64)
    args = parser.parse_args()
    model = resolve_model(args.model, quantization=args.quantization)
    threads = len(os.sched_getaffinity(0))
    begin = time.perf_counter()
    files = str(model.folder), str(model.model_lib)
    runner = mlc_core_parts.ModelRunner(*files, 64, threads, model.strips)
    load_s = time.perf_counter() - begin
    prompt = list(np.random.default_rng(0).integers(20, runner.vocab_size - 1000, PROMPT_TOKENS))
    prefill, decode, bandwidth = [], [], []
    for _ in range(args.runs):
        bandwidth.append(read_bandwidth(threads))
        runner.reset()
        begin = time.perf_counter()
        runner.forward(prompt)
        prefill.append(PROMPT_TOKENS / (time.perf_counter() - begin))
        begin = time.perf_counter()
        for _ in range(args.tokens):
            runner.forward([7])
        decode.append(args.tokens / (time.perf_counter() - begin))
    limit = statistics.median(bandwidth) / weight_bytes(model.folder)
    print(f"{model.name} {model.quantization}, {threads} threads, median of {args.runs} runs")
    print(f"load              {load_s * 1e3:8.0f} ms")
    print(f"prefill {PROMPT_TOKENS:4d}      {statistics.median(prefill):8.1f} tok/s")
    print(f"decode            {statistics.median(decode):8.1f} tok/s")
    print(
        f"limit of decode   {limit:8.1f} tok/s ({statistics.median(bandwidth) / 1e9:.1f} GB/s read)"
    )


if __name__ == "__main__":
    main()
