"""Decode and prompts behind a long history, beside llama.cpp on the same file.

usage: ./dev bench long FILE.gguf|SHAPE-TYPE [--depths 2048,8192,16384,32768] [--threads 2]
                        [--rounds 5] [--prompts 512] [--prompt-rounds 2] [--kv-cache-dtype f16|q8]
                        [--no-peer] [--ask] [--json FILE]

Both programs get the same tokens and pages of the same precision; llama.cpp has flash attention. At
each depth they take turns. `pages`: the bytes of pages that a step reads, divided by what it takes
longer than one behind 16 tokens, which a second process times in the same round; and the share of
the bandwidth that the same threads reach in the same run. `limit`: the decode of a dense model if
reading its weights and pages at that bandwidth were all its work. Of a history the first 1,024
tokens are computed, and the others are copies of their keys and values: times do not depend on
these. `--ask` waits for a line on standard input before each depth is timed, so that a busy machine
can be made quiet for it. `--json` puts the figures into a file, beside those of other models.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from cpu_parts import measure, peer, shapes
from cpu_parts.process import Process

from mlc_llm.compiler.machine_limits import read_bandwidth
from mlc_llm.prepare.model_source import resolve_model

STEPS = 4  # of decode, in one timing
COMPUTED = 1024  # tokens of a history
_SHORT = "ours behind 16 tokens"


def main() -> None:
    args = _arguments()
    path = shapes.file_of(args.file)
    dtype = None if args.kv_cache_dtype == "f16" else args.kv_cache_dtype
    model = resolve_model(path, kv_cache_dtype=dtype)
    contenders = [measure.ours_with(model, "ours")]
    if not args.no_peer:
        if peer.install() is None:
            raise SystemExit("llama.cpp cannot be built here; --no-peer runs without it")
        contenders.append(measure.peer_of(path, "llama.cpp"))
    more = {
        "context": max(args.depths) + 1024,
        "sequences": 2,  # one for the copies
        "computed": COMPUTED,
        "kv_cache_dtype": args.kv_cache_dtype,
    }
    contenders = [replace(c, options={**c.options, **more}) for c in contenders]
    contenders.append(replace(contenders[0], name=_SHORT))
    print(f"{path.name}, {args.kv_cache_dtype} pages, {args.threads} threads", flush=True)
    with measure.running(contenders, args.threads) as processes:
        found = _measure(args, processes, contenders[0].weight_bytes)
    if args.json:
        known = json.loads(args.json.read_text()) if args.json.is_file() else {}
        known[f"{path.stem}, {args.kv_cache_dtype} pages"] = found
        args.json.write_text(json.dumps(known, indent=1) + "\n")


def _measure(
    args: argparse.Namespace, processes: dict[str, Process], weight_bytes: int
) -> list[dict[str, Any]]:
    every: list[dict[str, Any]] = []
    short = processes.pop(_SHORT)
    for depth in (measure.SHORT, *args.depths):
        for process in processes.values():
            process.ask("decode", batch=1, history=depth, steps=1)  # computes the history
        if args.ask:
            print(f"ready behind {depth}", flush=True)
            sys.stdin.readline()
        found = _at(args, processes, short, depth)
        found["page_bytes"] = processes["ours"].ask("page_bytes", length=depth)
        found["limit"] = found["bandwidth"] / (weight_bytes + found["page_bytes"])
        if not every:
            _print_head(args, list(processes))
        else:
            _print(found, every[0])
        every.append(found)
    return every


def _at(
    args: argparse.Namespace, processes: dict[str, Process], short: Process, depth: int
) -> dict[str, Any]:
    """The medians of a depth: the bandwidth, seconds of a step and of a prompt by program, and how
    much longer a step of ours takes than a short one of the same round."""
    steps: dict[str, list[float]] = {name: [] for name in processes}
    prompts: dict[str, list[float]] = {name: [] for name in processes}
    read, more = [], []
    for number in range(args.rounds):
        read.append(read_bandwidth(args.threads))
        for name in list(processes)[:: -1 if number % 2 else 1]:
            time.sleep(measure.SETTLE_S)
            ask = processes[name].ask
            steps[name].append(ask("decode", batch=1, history=depth, steps=STEPS))
            if depth > measure.SHORT and number < args.prompt_rounds:
                prompts[name].append(ask("prefill", tokens=args.prompts, history=depth))
        time.sleep(measure.SETTLE_S)
        few = short.ask("decode", batch=1, history=measure.SHORT, steps=STEPS)
        more.append(steps["ours"][-1] - few)
    middle = {name: statistics.median(times) for name, times in steps.items()}
    rates = {
        name: args.prompts / statistics.median(times) for name, times in prompts.items() if times
    }
    found = {"depth": depth, "bandwidth": statistics.median(read), "step": middle, "prompt": rates}
    return found | {"more": statistics.median(more)}


def _print_head(args: argparse.Namespace, names: list[str]) -> None:
    ratio = ["ratio"] * (len(names) == 2)
    prompt = [f"prompt of {args.prompts}: {names[0]}", *names[1:], *ratio]
    decode = [f"decode: {names[0]}", *names[1:], *ratio]
    heads = ["tok/s behind", *decode, "limit", "pages GB/s", "share", *prompt]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}", flush=True)


def _print(found: dict[str, Any], short: dict[str, Any]) -> None:
    decode = {name: 1 / seconds for name, seconds in found["step"].items()}
    read = ["-", "-"]  # a short history on a busy machine may cost nothing that can be seen
    if found["more"] > 0:
        speed = (found["page_bytes"] - short["page_bytes"]) / found["more"]
        share = f"{speed / found['bandwidth']:.0%} of {found['bandwidth'] / 1e9:.1f}"
        read = [f"{speed / 1e9:.1f}", share]
    limit = f"{found['limit']:.0f}"
    cells = [f"{found['depth']}", *_compared(decode), limit, *read, *_compared(found["prompt"])]
    print(f"| {' | '.join(cells)} |", flush=True)


def _compared(rates: dict[str, float]) -> list[str]:
    cells = [f"{rate:.1f}" for rate in rates.values()]
    ratio = [f"{rates['ours'] / rates['llama.cpp']:.2f}"] if "llama.cpp" in rates else []
    return cells + ratio


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="a GGUF file, or SHAPE-TYPE such as 1B-Q4_0")
    depths = [2048, 8192, 16384, 32768]
    parser.add_argument("--depths", type=lambda t: [int(n) for n in t.split(",")], default=depths)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompts", type=int, default=512, help="tokens of the timed prompts")
    parser.add_argument("--prompt-rounds", type=int, default=2)
    parser.add_argument("--kv-cache-dtype", choices=["f16", "q8"], default="f16")
    parser.add_argument("--no-peer", action="store_true", help="without llama.cpp")
    parser.add_argument("--json", type=Path, help="the file for the figures")
    parser.add_argument("--ask", action="store_true", help="waits for a line before timing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
