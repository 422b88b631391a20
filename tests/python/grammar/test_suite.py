"""JSON-Schema-Test-Suite: no value that it calls invalid is written when strict.

suite.jsonl has its facts (make_suite.py). Not every valid value can be written, and some schemas
are refused: their numbers may only rise.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest
from walk import walk

TABLE = Path(__file__).parent / "suite.jsonl"
# Of all schemas, those that compile; of all valid values of these, those that may be written.
LEAST = {True: (1263, 1760), False: (1414, 2020)}


def text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@functools.cache
def facts() -> list[dict[str, Any]]:
    return [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("strict", [True, False])
def test_no_invalid_value_is_written(strict: bool) -> None:
    tasks = [
        {
            "kind": "schema",
            "source": text(fact["schema"]),
            "strict": strict,
            "admits": [text(value) for value in fact["invalid"] + fact["valid"]],
        }
        for fact in facts()
    ]
    compiled = written = 0
    for fact, answer in zip(facts(), walk(tasks), strict=True):
        if "error" in answer:
            continue
        compiled += 1
        count = len(fact["invalid"])
        written += sum(answer["admitted"][count:])
        if strict or not answer["warnings"]:
            assert not any(answer["admitted"][:count]), (fact, answer)
    least_compiled, least_written = LEAST[strict]
    assert compiled >= least_compiled
    assert written >= least_written
