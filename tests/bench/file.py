"""A GGUF file beside llama.cpp: speed, memory, load time, perplexity and greedy continuations.

usage: ./dev bench file FILE.gguf [--threads 1,2] [--rounds 5] [--processor-time] [--tokens 8000]
                        [--record FILE] [--no-speed] [--no-files]

Both programs get the file with its own types, the same token ids, and one turn each in a round.
`--processor-time` counts the processor's time instead of the clock's, for one thread on a busy
machine. A short prompt's greedy tokens show where the two programs part.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from cpu_parts import measure, peer, quality, text
from cpu_parts.agreement import Scores

from mlc_llm.prepare.model_source import resolve_model

SHORT, LONG = measure.SHORT, measure.LONG
CASES = (
    measure.Case("decode", 1, SHORT), measure.Case("decode", 4, SHORT),
    measure.Case("decode", 1, LONG), measure.Case("prefill", 128, 0),
    measure.Case("prefill", 512, 0),
)  # fmt: skip
PROMPTS = (
    "The capital of France is",
    "Water boils at a temperature of",
    "Once upon a time, in a small village by the sea,",
    "def fibonacci(n):\n",
    "The three largest planets of the solar system are",
)
CONTINUED = 24


def main() -> None:
    args = _arguments()
    if peer.install() is None:
        raise SystemExit("llama.cpp cannot be built here")
    ours = measure.ours_with(resolve_model(args.file), "ours")
    contenders = [ours, measure.peer_of(args.file, "llama.cpp")]
    if args.tokens:
        made = _quality(contenders, args.tokens)
        if args.record:
            _record(args.record, made)
    if not args.no_speed:
        speed(contenders, CASES, args)
    if not args.no_files:
        print_files(measure.files(contenders))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, 2])
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--tokens", type=int, default=8000, help="of the text; 0: no quality")
    parser.add_argument("--record", type=Path, help="writes what llama.cpp computes to this file")
    parser.add_argument("--no-speed", action="store_true")
    parser.add_argument("--no-files", action="store_true", help="without memory and load time")
    return parser.parse_args()


def _quality(contenders: list[measure.Contender], tokens: int) -> dict[str, Any]:
    """Prints the comparison; returns what llama.cpp made."""
    from mlc_core_parts import Tokenizer

    folder = Path(contenders[0].options["folder"])
    tokenizer = Tokenizer((folder / "tokenizer.json").read_text(encoding="utf-8"))

    def encode(words: str) -> list[int]:
        ids: list[int] = tokenizer.encode(words, add_special_tokens=True)
        return ids

    first = encode("a")[: len(encode("a")) - len(tokenizer.encode("a"))]  # the start, if any
    ids = encode(text.quality_text())[len(first) :][:tokens]
    windows = [first + piece for piece in text.windows(ids)]
    made: list[Scores] = []
    for contender in contenders:
        made.append(quality.scores(contender, windows))
        print(f"{contender.name}: perplexity {made[-1].perplexity:.4f}", flush=True)
    ratio = made[0].perplexity / made[1].perplexity - 1
    print(f"{len(made[0].best)} tokens: perplexity {ratio:+.3%}, same likeliest token on "
          f"{made[0].agreement(made[1]):.2%}")  # fmt: skip
    prompts = _continue(contenders, [encode(prompt) for prompt in PROMPTS])
    found = {"text": text.description(), "tokens": len(made[1].best)}
    return {**found, "perplexity": made[1].perplexity, "prompts": prompts}


def _record(file: Path, made: dict[str, Any]) -> None:
    prompts = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in made.pop("prompts").items()]
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in made.items()]
    inner = ",\n".join(prompts)
    file.write_text("{" + ",\n".join([*lines, f'"prompts": {{\n{inner}}}']) + "}\n", "utf-8")


def _continue(contenders: list[measure.Contender], prompts: list[list[int]]) -> dict[str, Any]:
    """Prints where the two programs part; returns the second one's tokens and their leads."""
    found = []
    for contender in contenders:
        with measure.running([contender], 1) as processes:
            process = processes[contender.name]
            found.append([process.ask("greedy", ids=ids, count=CONTINUED) for ids in prompts])
    for prompt, a, b in zip(PROMPTS, *found, strict=True):
        same = next((i for i in range(CONTINUED) if a[i][0] != b[i][0]), CONTINUED)
        lead = f", then a lead of {b[same][1]:.2f} is lost" if same < CONTINUED else ""
        print(f"{json.dumps(prompt)}: {same} of {CONTINUED} greedy tokens are the same{lead}")
    return {
        prompt: {
            "ids": ids,
            "greedy": [t for t, _ in b],
            "leads": [round(lead, 3) for _, lead in b],
        }
        for prompt, ids, b in zip(PROMPTS, prompts, found[1], strict=True)
    }


def speed(
    contenders: list[measure.Contender],
    cases: tuple[measure.Case, ...],
    args: argparse.Namespace,
    bytes_per_token: int | None = None,
) -> None:
    """`bytes_per_token`: what a decode step of one sequence reads of the weights, if it is known.
    Then a row says how fast the memory alone would let it be, by the bandwidth of the same run."""
    for threads in args.threads:
        timed = [
            replace(c, options={**c.options, "processor_time": args.processor_time})
            for c in contenders
        ]
        run = measure.speeds(timed, cases, threads, args.rounds)
        clock = "processor time" if args.processor_time else "clock"
        names, pair = [c.name for c in contenders], len(contenders) == 2
        heads = [f"{threads} threads, tok/s ({clock})", *names, *["ratio"] * pair]
        print(f"\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
        for case, by_name in run["cases"].items():
            found = [by_name[name]["median"] for name in names]
            cells = [case, *(f"{speed:.1f}" for speed in found)]
            cells += [f"{found[0] / found[1]:.2f}"] if pair else []
            print(f"| {' | '.join(cells)} |", flush=True)
        if bytes_per_token:
            read = run["read_bandwidth"]
            cells = [f"{read / bytes_per_token:.1f}"] * len(names) + [""] * pair
            print(f"| limit of decode 1 ({read / 1e9:.1f} GB/s) | {' | '.join(cells)} |")


def print_files(found: dict[str, Any]) -> None:
    """Weights in memory: the pages of the file that were read, which the system can take back."""
    print("\n| program | weights MB | of these in memory | load ms | peak memory MB | "
          "beyond them and KV |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    for name, one in found.items():
        memory, weights = one["memory"], one["weight_bytes"]
        read = min(memory["weights"], weights)
        beyond = memory["peak"] - read - memory["kv"]
        print(f"| {name} | {weights / 1e6:.1f} | {read / 1e6:.1f} | {one['load_s'] * 1e3:.0f} | "
              f"{memory['peak'] / 1e6:.0f} | {beyond / 1e6:.0f} |")  # fmt: skip


if __name__ == "__main__":
    main()
