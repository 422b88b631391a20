"""The table of coverage: what two tools report, summed by folder."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from devtools import code_coverage as tool  # noqa: E402


def test_files_are_summed_by_folder() -> None:
    files = [
        {"filename": name, "line_total": 10, "line_covered": run, "branch_total": 4}
        | {"branch_covered": 1}
        for name, run in (
            ("core/src/kv/a.cc", 10),
            ("core/src/kv/b.cc", 5),
            ("core/src/base/c.cc", 0),
        )
    ]
    counts = tool.by_folder(tool.of_gcovr({"files": files}), "core/src/", "the core")
    assert list(counts) == ["core/src/base", "core/src/kv", "the core"]
    assert counts["core/src/kv"] == tool.Count(20, 15, 8, 2)
    assert counts["the core"] == tool.Count(30, 15, 12, 3)


def test_files_beside_the_folders_have_a_row() -> None:
    summary = {"num_statements": 3, "covered_lines": 2, "num_branches": 0, "covered_branches": 0}
    names = ("bindings/python/mlc_llm/tools.py", "bindings/python/mlc_llm/serve/app.py")
    report = {"files": {name: {"summary": summary} for name in names}}
    counts = tool.by_folder(tool.of_coverage(report), tool.PACKAGE, "the package")
    rows = tool.table(counts).splitlines()[2:]
    assert rows == [
        "| bindings/python/mlc_llm | 3 | 66.7 % | 0 |  |",
        "| bindings/python/mlc_llm/serve | 3 | 66.7 % | 0 |  |",
        "| the package | 6 | 66.7 % | 0 |  |",
    ]
