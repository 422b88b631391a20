"""The edits of xgrammar (core/xgrammar/patches): what each is for; a wrong one is refused."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cmake"))
from apply_patches import applied, hunks, main  # noqa: E402

PATCHES = sorted((ROOT / "core/xgrammar/patches").glob("*.patch"))
PATCH = (
    "--- a/x.h\n+++ b/x.h\n@@ -2,1 +2,2 @@ counts\n two\n+and a half\n"
    "@@ -4,1 +5,1 @@ renames\n-four\n+4\n"
)


@pytest.mark.parametrize("path", PATCHES, ids=lambda path: path.stem)
def test_a_patch_says_why_and_which_test_fails_without_it(path: Path) -> None:
    head = path.read_text(encoding="utf-8").partition("--- a/")[0]
    assert re.search(r"^Why: \w", head, re.MULTILINE)
    tests = re.findall(r"\w+\.\w+", head.partition("Test: ")[2])
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "tests/core").rglob("*.cc")]
    assert tests
    for suite, _, name in (test.partition(".") for test in tests):
        assert any(f"TEST({suite}, {name})" in source for source in sources), (suite, name)


@pytest.mark.parametrize("path", PATCHES, ids=lambda path: path.stem)
def test_each_hunk_says_what_it_is_for(path: Path) -> None:
    found = list(hunks(path.read_text(encoding="utf-8")))
    assert found
    for name, line, why, _ in found:
        assert len(why.split()) > 1, f"{name}:{line} says nothing behind its second @@"


def test_hunks_are_applied_where_they_say(tmp_path: Path) -> None:
    (tmp_path / "x.h").write_text("one\ntwo\nthree\nfour\n")
    (tmp_path / "a.patch").write_text(PATCH)
    for _ in range(2):  # the second time, nothing changes
        main(tmp_path, tmp_path / "out", [str(tmp_path / "a.patch")])
        assert (tmp_path / "out/x.h").read_text() == "one\ntwo\nand a half\nthree\n4\n"


def test_a_source_that_has_changed_is_refused() -> None:
    with pytest.raises(SystemExit, match="x.h:4 has changed, where a patch wants: renames"):
        applied(PATCH, {"x.h": ["one", "two", "three", "five"]})
