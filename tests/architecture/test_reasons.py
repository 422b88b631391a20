"""The reason of an error is a row of codegen/schema/errors.py: nobody writes it as a literal."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from codegen.schema.errors import ERRORS

ROOT = Path(__file__).resolve().parents[2]
# TypeScript's compiler refuses a word that is no `Reason`.
SOURCES = {
    "*.py": ("bindings/python/mlc_llm",),
    "*.cc": ("core/src", "bindings/python/src", "bindings/kotlin"),
    "*.h": ("core/src", "bindings/python/src"),
    "*.swift": ("bindings/swift/Sources",),
    "*.kt": ("bindings/kotlin/core/src/main", "bindings/kotlin/android"),
}
GENERATED = re.compile(r"[._]gen\.|/Generated/")
COMMENT = re.compile(r"^\s*(//|\*|/\*).*$", re.MULTILINE)
WORDS = [row.name for rows in ERRORS.reasons.values() for row in rows]
# A reason of one word ("timeout") may be the name of something else, too.
LITERAL = re.compile(rf'"({"|".join(word for word in WORDS if "_" in word)})\\?"')


def literals(path: str, text: str) -> list[str]:
    """The reasons that a source has as texts."""
    if path.endswith(".py"):
        return [word for word in _constants(ast.parse(text))]
    return [match[1] for match in LITERAL.finditer(COMMENT.sub("", text))]


def _constants(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in WORDS and "_" in node.value:
            yield node.value
        if isinstance(node, ast.keyword) and node.arg == "code":
            yield from _texts([node.value])
        if isinstance(node, ast.Compare) and _is_code(node.left):
            yield from _texts(node.comparators)


def _is_code(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "code"


def _texts(nodes: list[ast.expr]) -> Iterator[str]:
    constants = [node for one in nodes for node in ast.walk(one) if isinstance(node, ast.Constant)]
    yield from (node.value for node in constants if isinstance(node.value, str))


def test_no_source_writes_a_reason() -> None:
    paths = [
        path
        for pattern, folders in SOURCES.items()
        for folder in folders
        for path in sorted((ROOT / folder).rglob(pattern))
        if not GENERATED.search(str(path))
    ]
    found = {str(path.relative_to(ROOT)): literals(path.name, path.read_text()) for path in paths}
    assert len(found) > 500
    assert {path: words for path, words in found.items() if words} == {}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", 'MLCError("it is full", code="disk_full")'),
        ("a.py", 'MLCError("it is new", code="too_merry")'),
        ("a.py", 'if error.code == "timeout": pass'),
        ("a.py", 'if error.code in ("timeout", "x"): pass'),
        ("a.py", 'FULL = "disk_full"'),
        ("a.cc", 'if (reason.name() == "kv_cache_exhausted") return;'),
        ("a.cc", r'"{\"error\": {\"code\": \"internal_error\"}}"'),
        ("a.swift", 'error.code == "model_not_loaded"'),
        ("a.kt", '"""{"error":{"code":"out_of_resources"}}"""'),
    ],
)
def test_a_literal_is_found(path: str, text: str) -> None:
    assert literals(path, text)


def test_other_texts_are_no_reasons() -> None:
    assert literals("a.py", '{"timeout": 3}, run(timeout="x", code=reasons.TIMEOUT)') == []
    assert literals("a.cc", '  // With the reason "disk_full".\n  Find("integrity");') == []
