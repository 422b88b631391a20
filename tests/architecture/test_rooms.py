"""The rooms of the Python package that know only some others (ARCHITECTURE.md, "Layers")."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "bindings" / "python" / "mlc_llm"
# What lies above a room, such as the command line, uses it.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "prepare": {"errors", "compiler"},
    "sdk": {"errors", "prepare", "protocol"},
    "serve": {"errors", "prepare", "sdk"},
    "bench": {"errors"},
}


def rooms_of(path: Path) -> set[str]:
    """The rooms of the package that a file imports, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    rooms = {folder.parent.name for folder in PACKAGE.glob("*/__init__.py")}
    return rooms & {name.split(".")[1] for name in names if name.startswith("mlc_llm.")}


@pytest.mark.parametrize("room", ALLOWED)
def test_rooms_import_downwards_only(room: str) -> None:
    known = ALLOWED[room] | {room}
    found = {path.name: rooms_of(path) - known for path in (PACKAGE / room).rglob("*.py")}
    assert found and {name: rooms for name, rooms in found.items() if rooms} == {}


def test_an_import_of_a_room_is_found(tmp_path: Path) -> None:
    file = tmp_path / "routes.py"
    file.write_text("from mlc_llm import serve\ndef f():\n    from mlc_llm.cli.show import x\n")
    assert rooms_of(file) == {"serve", "cli"}
