"""The names of test files. Pytest imports a file in a folder without `__init__.py` under its bare
name, so two such files of one name cannot be collected in one run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def bare_names_taken_twice(root: Path) -> list[str]:
    bare = (p.name for p in root.rglob("test_*.py") if not (p.parent / "__init__.py").exists())
    return sorted(name for name, count in Counter(bare).items() if count > 1)


def test_files_outside_packages_have_names_of_their_own() -> None:
    assert bare_names_taken_twice(TESTS) == []


def test_a_name_that_is_taken_twice_is_found(tmp_path: Path) -> None:
    for folder in ("a", "b", "package"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "test_same.py").touch()
    (tmp_path / "package" / "__init__.py").touch()
    assert bare_names_taken_twice(tmp_path) == ["test_same.py"]
    (tmp_path / "b" / "test_same.py").unlink()
    assert bare_names_taken_twice(tmp_path) == []
