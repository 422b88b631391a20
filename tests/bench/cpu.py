"""Speed, memory and quality of the CPU kernels, beside llama.cpp on the same model.

usage: ./dev bench cpu [--schemes q4f16_1,...] [--rounds 5] [--quick] [--no-peer] [--no-write]

One run, in turn: each round times every case on our kernels and on llama.cpp, so that a busy
machine slows both; medians are reported, and least times beside them in the JSON file. llama.cpp
comes from PyPI and is built for this machine in build/peer; its file is the embedded model
requantized to Q4_0, its fastest 4-bit type. The table goes to docs/performance.md, the figures to
docs/performance.json, the plot to docs/performance.svg.
"""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "parity"))

from cpu_parts import measure, peer, report

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCHEMES = "q4f16_1,q4f32_1,gguf_q4_1,gguf_q4_0"
QUALITY = "q4f16_1,q4f32_1,q4f16_0,q3f16_1,q0f16,gguf_q4_1,gguf_q4_0,gguf_q8_0"


def main() -> None:
    args = _arguments()
    speed_schemes = args.schemes.split(",")
    result: dict[str, Any] = {"machine": _machine(), "rounds": args.rounds}
    contenders = measure.ours(speed_schemes)
    if not args.no_peer:
        contenders += measure.peers()
        result["peer"] = f"{peer.PACKAGE} {peer.version()}" if peer.PYTHON.is_file() else None
    cases = measure.QUICK_CASES if args.quick else measure.CASES
    for threads in args.threads:
        print(f"{threads} threads", flush=True)
        result[f"threads_{threads}"] = measure.speeds(contenders, cases, threads, args.rounds)
    result["files"] = measure.files(contenders)
    if not args.no_quality:
        schemes = dict.fromkeys([*speed_schemes, *([] if args.quick else QUALITY.split(","))])
        result["quality"] = measure.quality(list(schemes), with_peer=not args.no_peer)
    text = report.markdown(result)
    print(text)
    if not args.no_write:
        report.write(DOCS, result, text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schemes", default=SCHEMES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, 2])
    parser.add_argument("--quick", action="store_true", help="few cases, a minute")
    parser.add_argument("--no-peer", action="store_true", help="without llama.cpp")
    parser.add_argument("--no-quality", action="store_true")
    parser.add_argument("--no-write", action="store_true", help="leave docs/ as it is")
    return parser.parse_args()


def _machine() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {len(names)} cores"


if __name__ == "__main__":
    main()
