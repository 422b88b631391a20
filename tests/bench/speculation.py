"""Speculative decoding on the default model: acceptance and speed beside decoding without.

usage: ./dev bench speculation [--draft QUANTIZATION | --medusa MODEL] [--tokens 96] [--runs 3]
                              [--predictions] [--forms] [--both]
                              [--synthetic [SHAPE] [--part mtp|eagle|medusa] [--first N]
                               [--options batch=1 threads=1]]

Each way answers the same prompts, one at a time and in turn, so that a busy machine slows all of
them alike; medians of the decode speed. Answers that differ from those without speculation are an
error. `--draft q4f16_1` adds the model itself in another quantization as its own draft: high
acceptance at the full price of a draft, a case where adaptive lengths must know when to stop.
`--medusa` takes a folder with Medusa's heads (examples/medusa) instead of the default model.

`--predictions` measures the request's `prediction` instead, on an editing task: without it, with
the exact answer, with one where two names of the program are others, with a text that never fits.

`--forms` asks for the same JSON about different people, one after another: a new engine without
drafts beside one with prompt lookup, which drafts from the answers before.

`--both` answers with drafts of a part, with prompt lookup, and with both, in turn: an edit, the
same JSON about different people, and prose, by the default model with a random Eagle layer, whose
tokens are replaced so that a known share is accepted.

`--synthetic` measures drafts by a part of a random model of a real shape (`1B`, as `./dev bench
shapes`): its MTP layer, Eagle 3's, or Medusa's heads, with tokens of which a known share is
accepted at each place (drafts_bench.cc). `--first`: the MTP layer guesses only so many first tokens
(`draft_vocab_size`).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cpu_parts import draft_shapes, shapes

from mlc_llm import MLCEngine
from mlc_llm.prepare.model_source import resolve_model, resolve_source

TEXT = (
    "The quick brown fox jumps over the lazy dog near the river bank while the sun sets behind the "
    "old mill and the birds sing their evening songs."
)
PROMPTS = {
    "copy": f"Repeat this text word for word: {TEXT}",
    "list": "Count from 1 to 40, separated by commas.",
    "code": "Write a Python function that computes the factorial of a number and explain it.",
    "prose": "Write two sentences about the sea.",
}


PROGRAM = '''class Cart:
    """The articles that a customer wants to buy."""

    def __init__(self, customer):
        self.customer = customer
        self.items = []
        self.discount = 0.0

    def add(self, name, price, count=1):
        self.items.append({"name": name, "price": price, "count": count})

    def total(self):
        price = sum(item["price"] * item["count"] for item in self.items)
        return price * (1 - self.discount)
'''


OFF = {"speculative_mode": "disable"}
AS_JSON: dict[str, Any] = {"response_format": {"type": "json_object"}, "repetition_penalty": 1.0}
PEOPLE = ("Anna", "Boris", "Carla", "David", "Elena", "Farid", "Grace", "Hiro")
FORM = (
    "Write a JSON object about a person called {} with the fields name, age, city, job, languages, "
    "hobbies and address, where address has street, number and country. Write nothing else."
)


def answer(
    engine: MLCEngine,
    prompt: str,
    tokens: int,
    temperature: float,
    prediction: str | None = None,
    **fields: Any,
) -> tuple[str, float]:
    result = engine.chat.completions.create(
        messages=[{"role": "user", "content": prompt}],
        temperature=temperature, seed=1, max_tokens=tokens,
        debug_config={"ignore_eos": True},
        prediction={"type": "content", "content": prediction} if prediction else None,
        **fields,
    )  # fmt: skip
    speed = engine.metrics()["last_finished_request"]["decode_tokens_per_s"]
    return result.choices[0].message.content or "", float(speed)


def ways(draft: str | None, has_heads: bool) -> dict[str, dict[str, Any]]:
    if has_heads:
        medusa = {"speculative_mode": "medusa"}
        fixed = {f"medusa {n}": {**medusa, "spec_draft_length": n} for n in (1, 2, 4)}
        return {"off": OFF, "medusa adaptive": medusa, **fixed}
    lookup = {"speculative_mode": "prompt_lookup"}
    found: dict[str, dict[str, Any]] = {
        "off": OFF,
        "lookup adaptive": lookup,
        "lookup 3": {**lookup, "spec_draft_length": 3},
        "lookup 7": {**lookup, "spec_draft_length": 7},
        "lookup 3, 2 wide": {**lookup, "spec_draft_length": 3, "spec_tree_width": 2},
        "lookup 3, 4 wide": {**lookup, "spec_draft_length": 3, "spec_tree_width": 4},
    }
    if draft is not None:
        model = resolve_model(None, quantization=draft)
        small = {
            "speculative_mode": "small_draft",
            "additional_models": [f"{model.folder},{model.model_lib}"],
        }
        three = {**small, "spec_draft_length": 3}
        found |= {"draft adaptive": small, "draft 3": three}
        found |= {f"draft 3, {w} wide": {**three, "spec_tree_width": w} for w in (2, 4)}
    return found


def compare_predictions(tokens: int, runs: int) -> None:
    model = resolve_model(None, quantization="q4f32_1")
    prompt = f"Repeat this program, without any words before it:\n\n{PROGRAM}"
    with MLCEngine(model.folder, model_lib=model.model_lib, mode="interactive") as engine:
        text, _ = answer(engine, prompt, tokens, 0.0)
        edited = text.replace("price", "amount").replace("customer", "client")
        predictions = {"none": None, "exact": text, "edited": edited, "wrong": "tea, " * tokens}
        speeds: dict[str, list[float]] = {name: [] for name in predictions}
        for _ in range(runs):
            for name, prediction in predictions.items():
                found, speed = answer(engine, prompt, tokens, 0.0, prediction)
                if found != text:
                    raise SystemExit(f"prediction '{name}' changed the answer")
                speeds[name].append(speed)
        counts = engine.metrics()["prediction"]
    print(f"decode tok/s, {tokens} tokens, median of {runs}")
    for name, found in speeds.items():
        print(f"prediction {name:8} {statistics.median(found):8.1f}")
    print(f"{counts['accept_count']} of {counts['draft_count']} drafts accepted")


def compare_forms(tokens: int, runs: int) -> None:
    model = resolve_model(None, quantization="q4f32_1")
    ways: dict[str, dict[str, Any]] = {"off": OFF, "lookup": {"speculative_mode": "prompt_lookup"}}
    speeds: dict[str, list[list[float]]] = {name: [] for name in ways}
    for _ in range(runs):
        texts = {}
        for name, config in ways.items():
            with MLCEngine(
                model.folder, model_lib=model.model_lib, mode="interactive", engine_config=config
            ) as engine:
                found = [
                    answer(engine, FORM.format(person), tokens, 0.0, **AS_JSON) for person in PEOPLE
                ]
            texts[name] = [text for text, _ in found]
            speeds[name].append([speed for _, speed in found])
        if texts["off"] != texts["lookup"]:
            raise SystemExit("the drafts changed an answer")
    print(f"decode tok/s, {tokens} tokens, medians of {runs} engines")
    print(f"{'':8}{'the first answer':>20}{f'the {len(PEOPLE) - 1} after it':>20}")
    for name, engines in speeds.items():
        first = statistics.median(one[0] for one in engines)
        others = statistics.median(statistics.mean(one[1:]) for one in engines)
        print(f"{name:8}{first:20.1f}{others:20.1f}")


def compare_both(args: argparse.Namespace) -> None:
    shapes_folder = Path(__file__).resolve().parents[2] / "build/shapes"
    folder, library = draft_shapes.model_with(
        "eagle", draft_shapes.DEFAULT, shapes_folder / "default.gguf", resolve_source(None)
    )
    edits = (("price", "amount"), ("customer", "client"), ("items", "goods"))
    change = "Write this program again, with the name {} in place of {}:\n\n"
    tasks = {
        "edit": [change.format(new, old) + PROGRAM for old, new in edits],
        "forms": [FORM.format(person) for person in PEOPLE],
        "prose": [f"Write two sentences about {what}." for what in ("the sea", "bread", "snow")],
    }
    print(f"times the tokens a second without drafts, {args.runs} answers to each question")
    print(
        f"{'':6} {'accepted':>8} {'off':>7} {'lookup':>7} {'part':>7} {'both':>7}  drafts of both"
    )
    for task, questions in tasks.items():
        file = shapes_folder / f"texts-{task}.json"
        begin, middle = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"
        file.write_text(json.dumps([f"{begin}{text}{middle}" for text in questions]))
        for case in run_bench(folder, library, "eagle", args, f"--texts={file}"):
            gains = " ".join(
                f"{case[way] / case['off']:7.2f}" for way in ("lookup", "part", "both")
            )
            print(f"{task:6} {case['rate']:8.0%} {case['off']:7.1f} {gains}  looked up"
                  f" {case['found']} of {case['looked_up']}, all {case['accepted']} of"
                  f" {case['drafted']}", flush=True)  # fmt: skip


def model_of(shape: str, part: str, first: int) -> tuple[Path | str, Path | str]:
    """The folder and the library of a shape's model with that part."""
    name = f"{shape}-MTP" if part == "mtp" else shape
    file = Path(__file__).resolve().parents[2] / f"build/shapes/{name}-Q4_0.gguf"
    if part != "mtp":
        return draft_shapes.model_with(part, shapes.SHAPES[name], file)
    shapes.write(file, shapes.SHAPES[name])
    model = resolve_model(file, overrides={"draft_vocab_size": first} if first else None)
    return model.folder, model.model_lib


def synthetic(args: argparse.Namespace) -> None:
    folder, library = model_of(args.synthetic, args.part, args.first)
    print(f"decode tok/s of {args.synthetic} with {args.part}, {args.tokens} tokens, medians of"
          f" {args.runs}", flush=True)  # fmt: skip
    for case in run_bench(folder, library, args.part, args):
        print(*(costs_of(case) if "steps" in case else [case_of(case)]), sep="\n", flush=True)


def run_bench(
    folder: Path | str, library: Path | str, part: str, args: argparse.Namespace, *more: str
) -> Iterator[dict[str, Any]]:
    """The lines of drafts_bench.cc."""
    program = Path(__file__).resolve().parents[2] / "build/dev/core/mlc_drafts_bench"
    command = [program, f"--model={folder}", f"--lib={library}", f"--draft={part}",
               f"--tokens={args.tokens}", f"--runs={args.runs}",
               *(f"--{option}" for option in args.options), *more]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    if process.returncode != 0:
        raise SystemExit(f"{program.name} ended with {process.returncode}")


def costs_of(case: dict[str, Any]) -> list[str]:
    steps = ", ".join(f"{length}: {ms:.1f}" for length, ms in case["steps"])
    return [
        f"batch {case['batch']}: a step {case['plain_ms']:.1f} ms, a draft {case['draft_ms']:.2f};"
        f" a step by drafts of each sequence: {steps}",
        f"{'accepted':>9} {'plain':>8} {'drafts':>8} {'gain':>6} {'of all':>6} {'best':>12}"
        f" {'length':>7} {'ms/draft':>9}  steps with drafts: rows (how many) ms",
    ]


def case_of(case: dict[str, Any]) -> str:
    rows = ", ".join(f"{rows} ({count}) {ms:.1f}" for rows, count, ms in case["rows"])
    return (
        f"{case['rate']:9.0%} {case['plain']:8.1f} {case['drafts']:8.1f} {case['gain']:6.2f}"
        f" {case['all']:6.2f} {case['best']:6.2f} ({case['best_length']:2d})"
        f" {case['length']:7.1f} {case['draft_ms']:9.2f}  {rows}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draft")
    parser.add_argument("--medusa", metavar="MODEL")
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--predictions", action="store_true")
    parser.add_argument("--forms", action="store_true")
    parser.add_argument("--both", action="store_true")
    parser.add_argument("--synthetic", nargs="?", const="1B", choices=("1B", "tiny"))
    parser.add_argument("--part", default="mtp", choices=("mtp", *draft_shapes.KINDS))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--options", nargs="*", default=[], help="of drafts_bench.cc: threads=1")
    args = parser.parse_args()
    if args.synthetic:
        return synthetic(args)
    if args.both:
        return compare_both(args)
    if args.predictions:
        return compare_predictions(args.tokens, args.runs)
    if args.forms:
        return compare_forms(args.tokens, args.runs)
    model = resolve_model(args.medusa, quantization=None if args.medusa else "q4f32_1")
    engines = {
        name: MLCEngine(
            model.folder, model_lib=model.model_lib, mode="interactive", engine_config=config
        )
        for name, config in ways(args.draft, bool(args.medusa)).items()
    }
    print(f"decode tok/s, {args.tokens} tokens, median of {args.runs}")
    print(f"{'':12}" + "".join(f"{name:>18}" for name in engines))
    for label, prompt in PROMPTS.items():
        for temperature in (0.0, 0.7):
            speeds: dict[str, list[float]] = {name: [] for name in engines}
            texts = set()
            for _ in range(args.runs):
                for name, engine in engines.items():
                    text, speed = answer(engine, prompt, args.tokens, temperature)
                    texts.add(text)
                    speeds[name].append(speed)
            if len(texts) != 1:
                raise SystemExit(f"the answers to '{prompt}' differ")
            cells = "".join(f"{statistics.median(s):18.1f}" for s in speeds.values())
            print(f"{label:6} {temperature:4.1f} {cells}")
    for name, engine in engines.items():
        counts = engine.metrics().get("spec_decode")
        if counts is not None:
            drafted, accepted = sum(counts["draft_count"][1:]), sum(counts["accept_count"][1:])
            print(f"{name}: {accepted} of {drafted} drafts accepted")
        engine.terminate()


if __name__ == "__main__":
    main()
