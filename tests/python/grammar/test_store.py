"""JSON Schema Store, a part of which MaskBench has: how many schemas compile may only rise.

The schemas are other people's and not in the repository; `./dev bench grammars --sets store`
fetches them.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pytest
from walk import walk

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests" / "bench"))

from grammar_parts import schema_store  # noqa: E402
from grammar_parts.packages import FOLDER  # noqa: E402

COUNT = 435
LEAST = {True: 414, False: 433}  # 95 % when strict, 99.5 % when lenient


@functools.cache
def schemas() -> list[object]:
    if not (FOLDER / "unpacked" / schema_store.PACKAGE).is_dir():
        pytest.skip("no schemas here: `./dev bench grammars --sets store` fetches them")
    return [schema for _, schema in schema_store.schemas()]


@pytest.mark.parametrize("strict", [True, False])
def test_how_many_schemas_compile(strict: bool) -> None:
    tasks = [
        {"kind": "schema", "source": schema, "strict": strict, "admits": []} for schema in schemas()
    ]
    refused = [answer["error"] for answer in walk(tasks) if "error" in answer]
    assert len(tasks) == COUNT
    assert len(tasks) - len(refused) >= LEAST[strict], refused
