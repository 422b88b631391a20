"""Coverage of lines and branches: of the core by the C++ tests, of the package by the Python tests.

usage: python -m devtools.code_coverage BUILD [--core] [--python [PYTEST ARGUMENT ...]]

BUILD: a build folder of the core that was compiled with --coverage. The reports are in
build/coverage: `core/index.html`, `python/index.html`; the table is in `table.md` and `table.json`.
The Python tests also measure the processes that they start, but not what those processes do before
they are killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "coverage"
PACKAGE = "bindings/python/mlc_llm/"
CORE = "core/src/"


@dataclass
class Count:
    """How many lines and branches there are, and how many of them the tests ran."""

    lines: int = 0
    lines_run: int = 0
    branches: int = 0
    branches_run: int = 0

    def __add__(self, other: Count) -> Count:
        mine, theirs = vars(self).values(), vars(other).values()
        return Count(*(a + b for a, b in zip(mine, theirs, strict=True)))


def of_gcovr(report: dict[str, Any]) -> Iterator[tuple[str, Count]]:
    """The files in a JSON summary of gcovr."""
    for file in report["files"]:
        names = ("line_total", "line_covered", "branch_total", "branch_covered")
        yield file["filename"], Count(*(file[name] for name in names))


def of_coverage(report: dict[str, Any]) -> Iterator[tuple[str, Count]]:
    """The files in a JSON report of coverage.py."""
    for name, file in report["files"].items():
        names = ("num_statements", "covered_lines", "num_branches", "covered_branches")
        yield name, Count(*(file["summary"][name] for name in names))


def by_folder(files: Iterator[tuple[str, Count]], root: str, whole: str) -> dict[str, Count]:
    """The counts of the folders directly under `root`, and of them all."""
    found: dict[str, Count] = {}
    for name, count in sorted(files):
        below = name.removeprefix(root).split("/")
        folder = root + below[0] if len(below) > 1 else root.rstrip("/")
        for key in (folder, whole):
            found[key] = found.get(key, Count()) + count
    return {name: found[name] for name in sorted(found, key=lambda name: (name == whole, name))}


def table(counts: dict[str, Count]) -> str:
    rows = ["| part | lines | run | branches | run |", "|---|---|---|---|---|"]
    for name, c in counts.items():
        rows.append(
            f"| {name} | {c.lines:,} | {percent(c.lines_run, c.lines)} "
            f"| {c.branches:,} | {percent(c.branches_run, c.branches)} |"
        )
    return "\n".join(rows) + "\n"


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def run(*command: object, **environment: str) -> int:
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=ROOT, env={**os.environ, **environment}).returncode


def core(build: Path) -> tuple[int, dict[str, Count]]:
    """Runs the C++ tests and reads what gcov counted."""
    for old in build.rglob("*.gcda"):
        old.unlink()
    status = run(build / "core" / "mlc_core_test", "--gtest_brief=1")
    folder = OUT / "core"
    folder.mkdir(parents=True, exist_ok=True)
    summary = folder / "summary.json"
    failed = run(
        sys.executable, "-m", "gcovr", "--root", ROOT, "--object-directory", build, "--filter",
        f"{CORE}.*", "--exclude-throw-branches", "--exclude-unreachable-branches",
        "--gcov-ignore-parse-errors=all", "--json-summary", summary,
        "--html-details", folder / "index.html", "--print-summary", build,
    )  # fmt: skip
    if failed:
        raise SystemExit(failed)
    return status, by_folder(of_gcovr(json.loads(summary.read_text())), CORE, "the core")


def python(arguments: Sequence[str]) -> tuple[int, dict[str, Count]]:
    """Runs the Python tests and what they start under coverage.py."""
    OUT.mkdir(parents=True, exist_ok=True)
    tool = (sys.executable, "-m", "coverage")
    run(*tool, "erase")
    status = run(*tool, "run", "-m", "pytest", *arguments)
    run(*tool, "combine", "--quiet")
    report = OUT / "python.json"
    run(*tool, "json", "--quiet", "-o", report)
    run(*tool, "html", "--quiet", "-d", OUT / "python")
    files = of_coverage(json.loads(report.read_text()))
    return status, by_folder(files, PACKAGE, "the package")


def main(arguments: list[str]) -> int:
    build, *options = arguments
    counts: dict[str, Count] = {}
    worst = 0
    if "--core" in options:
        status, found = core(Path(build))
        counts, worst = counts | found, max(worst, status)
    if "--python" in options:
        status, found = python(options[options.index("--python") + 1 :])
        counts, worst = counts | found, max(worst, status)
    (OUT / "table.md").write_text(table(counts))
    (OUT / "table.json").write_text(
        json.dumps({name: vars(count) for name, count in counts.items()}, indent=1)
    )
    print(table(counts) + f"\n{OUT.relative_to(ROOT)} has the reports of every file.")
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
