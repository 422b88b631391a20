"""Files by hand have at most 400 lines: what is longer has more than one subject.

Whoever reads a file of that length sees all of it in one sitting, and a change of one subject meets
no other. Tables are no such files: nobody reads them in order.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT = 400
SOURCES = re.compile(r".*\.(h|cc|c|py|swift|kt|kts|java|ts|js|css|j2)|dev")
GENERATED = re.compile(r"[._]gen\.|/[Gg]enerated/")
# Rows of data, one after another.
TABLES = {
    "tests/bindings/vectors/by_hand.py",
    "tests/fixtures/families/cases.py",
    "tests/python/text/tokenizer_zoo.py",
}
# Longer ones, with the most lines that they may have. They are to be split, and may not grow.
LONGER = {
    "bindings/kotlin/core/src/main/cpp/mlc_llm_jni.cc": 425,
    "bindings/python/mlc_llm/compiler/kernels/gpu/recurrence.py": 500,
    "core/src/runtime/device/webgpu/webgpu_session.cc": 401,
    "dev": 610,
    "tests/apps/android_views/ScreensTest.kt": 600,
    "tests/core/engine/engine_test.cc": 435,
}


def too_long(lengths: dict[str, int], longer: dict[str, int]) -> list[str]:
    """What is to be done about each file that breaks the rule."""
    complaints = []
    for name, lines in sorted(lengths.items()):
        if name in TABLES or lines <= longer.get(name, LIMIT):
            continue
        complaints.append(f"{name} has {lines} lines: split it, the limit is {LIMIT}")
    for name in sorted(longer):
        if lengths.get(name, 0) <= LIMIT:
            complaints.append(f"{name} is short enough now: take it out of LONGER")
    return complaints


def lengths() -> dict[str, int]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    names = [n for n in listed.stdout.splitlines() if SOURCES.fullmatch(n)]
    paths = {n: ROOT / n for n in names if not GENERATED.search(n)}
    return {n: len(p.read_bytes().splitlines()) for n, p in paths.items() if p.exists()}


def test_files_by_hand_are_short() -> None:
    found = lengths()
    assert len(found) > 1000 and TABLES <= found.keys()
    assert too_long(found, LONGER) == []


@pytest.mark.parametrize(
    ("lines", "longer", "complaint"),
    [
        (400, {}, None),
        (401, {}, "a.py has 401 lines"),
        (420, {"a.py": 420}, None),
        (421, {"a.py": 420}, "a.py has 421 lines"),
        (400, {"a.py": 420}, "a.py is short enough now"),
    ],
)
def test_what_breaks_the_rule_is_said(
    lines: int, longer: dict[str, int], complaint: str | None
) -> None:
    found = too_long({"a.py": lines}, longer)
    assert found == [] if complaint is None else found[0].startswith(complaint)
