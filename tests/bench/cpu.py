"""Speed, memory and quality of the CPU kernels, beside llama.cpp on the same model.

usage: ./dev bench cpu [--schemes gguf_q4_0,...] [--rounds 5] [--quick] [--no-peer] [--no-write]
                       [--no-quality] [--no-speed] [--quality-tokens N]

One run, in turn: each round times every case on our kernels and on llama.cpp, so that a busy
machine slows both; medians are reported, and least times beside them in the JSON file. llama.cpp
comes from PyPI and is built for this machine in build/peer; its file is the embedded model
requantized to Q4_0, its fastest 4-bit type. Quality is measured on a text of --quality-tokens
(`cpu_parts/text.py`), beside llama.cpp on the very same file for each scheme that is one. The
tables go to docs/performance.md, the figures to docs/performance.json; --no-speed leaves the
speeds of the last run.
"""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "parity"))

from cpu_parts import measure, peer, quality, report

from mlc_llm.compiler import targets

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCHEMES = "gguf_q4_0,q4f16_1"
QUALITY = "q4f16_1,q4f32_1,q4f16_0,q3f16_1,q0f16,gguf_q4_1,gguf_q4_0,gguf_q8_0"
QUALITY_TOKENS = 65_536


def main() -> None:
    args = _arguments()
    result = _speeds_and_files(args)
    if not args.no_quality:
        schemes = args.schemes.split(",") + ([] if args.quick else QUALITY.split(","))
        with_peer = not args.no_peer and peer.install() is not None
        result["quality"] = quality.quality(
            list(dict.fromkeys(schemes)), tokens=args.quality_tokens, with_peer=with_peer
        )
    text = report.markdown(result)
    print(text)
    if not args.no_write:
        report.write(DOCS, result, text)


def _speeds_and_files(args: argparse.Namespace) -> dict[str, Any]:
    new: dict[str, Any] = {"machine": _machine(), "rounds": args.rounds}
    result = report.read(DOCS) if args.no_speed else new
    contenders = measure.ours(args.schemes.split(","))
    if not args.no_peer and peer.install() is not None:
        contenders.append(measure.peer_with("Q4_0"))
        result["peer"] = f"{peer.PACKAGE} {peer.version()}"
    cases = measure.QUICK_CASES if args.quick else measure.CASES
    for threads in [] if args.no_speed else args.threads:
        print(f"{threads} threads", flush=True)
        result[f"threads_{threads}"] = measure.speeds(contenders, cases, threads, args.rounds)
    result["files"] = measure.files(contenders)
    return result


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schemes", default=SCHEMES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, 2])
    parser.add_argument("--quick", action="store_true", help="few cases, a minute")
    parser.add_argument("--no-peer", action="store_true", help="without llama.cpp")
    parser.add_argument("--no-quality", action="store_true")
    parser.add_argument("--no-speed", action="store_true", help="speeds stay as they are")
    parser.add_argument("--quality-tokens", type=int, default=QUALITY_TOKENS)
    parser.add_argument("--no-write", action="store_true", help="leave docs/ as it is")
    return parser.parse_args()


def _machine() -> str:
    """Names hide what a virtual machine lets through of its processor; `dot` is what was used."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    name = names[0] if names else platform.processor()
    return f"{name}, {len(names)} cores, bytes multiplied by {targets.host().vectors.dot}"


if __name__ == "__main__":
    main()
