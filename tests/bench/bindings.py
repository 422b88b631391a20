"""`./dev bench bindings`: what a chunk costs in each language, from the engine to a typed value.

Usage: python tests/bench/bindings.py [--tokens N] [--warmup N] [--repeats N] [LANGUAGE ...]

The fake model answers at once, so that a repeat's wall time divided by its chunks is the engine's
scheduling, the callback, the hand-over to the language's thread and the decoding together; the C
program's number is all of that but the last two. The first repeats warm up (a virtual machine
compiles what runs often) and are not counted. Ends with status 1 when a median is not below
LIMIT_US.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bindings"))

from programs import FAKE, Program, languages, why_not  # noqa: E402

LIMIT_US = 50
STREAMS = (1, 16)


def measure(language: str, streams: int, options: argparse.Namespace) -> list[float]:
    """Microseconds a chunk, one number a repeat, least first."""
    program = Program(language)
    counts = ("--tokens", options.tokens, "--repeats", options.warmup + options.repeats)
    answer = program.call("bench", "--streams", streams, *counts, *FAKE)
    return sorted(answer["us_per_chunk"][options.warmup :])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("languages", nargs="*", default=languages())
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--warmup", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    print(f"{'language':10} {'streams':>7} {'median':>8} {'least':>8} {'most':>8}   us a chunk")
    slow = False
    for language in options.languages:
        reason = why_not(language)
        if reason:
            print(f"{language:10} not built here: {reason}")
            continue
        for streams in STREAMS:
            times = measure(language, streams, options)
            median = statistics.median(times)
            slow |= median >= LIMIT_US
            row = f"{language:10} {streams:7} {median:8.1f} {times[0]:8.1f} {times[-1]:8.1f}"
            print(row + ("   over the limit" if median >= LIMIT_US else ""), flush=True)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
