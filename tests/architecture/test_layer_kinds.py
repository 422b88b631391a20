"""Nobody outside of a kind of layer asks which kind it has: a part answers for itself."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

COMPILER = Path(__file__).parents[2] / "bindings/python/mlc_llm/compiler"
BASES = {"LayerPart", "Mixer", "FeedForward", "TokenInputs"}
ASKING = {"isinstance", "issubclass", "type"}


def kinds() -> set[str]:
    """The classes of parts, by their modules in `compiler/layers`."""
    trees = [ast.parse(file.read_text()) for file in (COMPILER / "layers").glob("*.py")]
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {c.name for c in classes if BASES & {ast.unparse(base) for base in c.bases}}


def questions(code: str, known: set[str]) -> list[str]:
    """Where the code asks for the class of something, and names a kind or the base of all."""
    found = []
    for node in ast.walk(ast.parse(code)):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        asks = is_call and node.func.id in ASKING and len(node.args) > 1
        compares = isinstance(node, ast.Compare) and "type(" in ast.unparse(node)
        table = isinstance(node, ast.Dict) and any(key is not None and names(key) & known
                                                   for key in node.keys)  # fmt: skip
        if (asks or compares or isinstance(node, ast.MatchClass)) and names(node) & known:
            found.append(ast.unparse(node))
        elif table:
            found.append(ast.unparse(node))
    return found


def names(node: ast.AST) -> set[str]:
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return found | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def test_there_is_no_ladder_over_kinds_of_layers() -> None:
    known = kinds()
    assert {"AttentionSpec", "LatentSpec", "MoESpec", "TimeMixSpec", "LayerInputSpec"} <= known
    asked = [
        f"{path.relative_to(COMPILER)}: {question}"
        for path in sorted(COMPILER.rglob("*.py"))
        for question in questions(path.read_text(), known | BASES)
    ]
    assert asked == []


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(part, MLPSpec)", "isinstance(part, (LatentSpec, int))", "type(a) is MoESpec",
        "isinstance(one, layers.MoESpec)", "{MLPSpec: build}", "issubclass(kind, Mixer)",
        "match part:\n    case AttentionSpec(): pass",
    ],
)  # fmt: skip
def test_a_question_is_found(code: str) -> None:
    assert questions(code, kinds() | BASES)


def test_what_makes_a_part_is_no_question() -> None:
    code = "MLPSpec(width=3), isinstance(device, GPU), {'a': MLPSpec}, type(x) is int"
    assert questions(code, kinds() | BASES) == []


def test_kernels_take_their_arguments_by_name() -> None:
    """An argument that is there only sometimes is a parameter: `function.named_kernel`."""
    files = sorted((COMPILER / "kernels").rglob("*.py"))
    taken = [f.name for f in files if re.search(r"\.pop\(", f.read_text())]
    assert files and taken == []
