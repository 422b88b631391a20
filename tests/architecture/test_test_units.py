"""cmake/test_units.py: the C++ tests are compiled as units, and none of them is lost."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FILE = """#include <a>

namespace mlc {
namespace {

int helper() { return 1; }

}  // namespace
}  // namespace mlc
"""


@pytest.fixture(scope="module")
def test_units() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "cmake" / "test_units.py"))


def test_every_file_is_in_one_unit_and_keeps_its_lines(test_units: dict[str, Any]) -> None:
    files = sorted((ROOT / "tests" / "core").rglob("*.cc"))
    names = [path.relative_to(ROOT).as_posix() for path in files]
    texts = [(name, (ROOT / name).read_text(encoding="utf-8")) for name in names]
    made = test_units["units"](30, texts)
    assert len(made) == 30
    whole = "".join(made)
    assert [line.split('"')[1] for line in whole.splitlines() if line.startswith("#line")] == names
    for name, text in texts:
        part = whole.split(f'#line 1 "{name}"\n')[1].split("#line 1 ")[0]
        assert part.count("\n") == text.count("\n")


def test_helpers_of_one_name_do_not_meet(test_units: dict[str, Any]) -> None:
    (unit,) = test_units["units"](1, [("a/x.cc", FILE), ("b/x.cc", FILE)])
    assert "namespace file_a_x_cc { namespace {" in unit
    assert "namespace file_b_x_cc { namespace {" in unit
    assert unit.count("{") == unit.count("}")


@pytest.mark.parametrize("text", [FILE.replace("namespace {\n", "\n"), FILE * 2])
def test_a_file_of_another_form_is_named(test_units: dict[str, Any], text: str) -> None:
    with pytest.raises(SystemExit, match="a.cc: its tests must stand in one"):
        test_units["part"]("a.cc", text)
