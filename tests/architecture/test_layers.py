"""The layer law: who may include or import whom (ARCHITECTURE.md)."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "core" / "src"
PACKAGE = ROOT / "bindings" / "python" / "mlc_llm"

# Each directory of core/src and what it may include besides itself.
COMPONENTS = {"base", "runtime"}
ALLOWED = {
    "base": set(),
    "runtime": {"base"},
    "text": {"base"},
    "kv": COMPONENTS,
    "model": COMPONENTS,
    "grammar": COMPONENTS | {"text"},
    "sampling": COMPONENTS | {"grammar"},
    "engine": COMPONENTS | {"model", "kv", "sampling", "grammar", "text"},
    "chat": COMPONENTS | {"model", "kv", "sampling", "grammar", "text", "engine"},
    "capi": COMPONENTS | {"chat"},
}
# Third-party headers, and the one place that may include each.
GUARDED = {
    # tvm_runtime/ belongs to TVM's own sources: the headers that their package leaves out.
    r"tvm/|dlpack/": re.compile(r"core/(tvm_runtime/.*|src/(runtime/.*|grammar/matcher\.cc))"),
    r"nlohmann/": re.compile(r"core/src/base/json\.cc"),
    r"xgrammar/": re.compile(r"core/src/grammar/.*"),
    r"pybind11/": re.compile(r"bindings/python/src/.*"),
}


def sources(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix in {".h", ".cc"})


def includes(path: Path) -> list[tuple[str, str]]:
    return re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', path.read_text(), re.MULTILINE)


def test_every_directory_of_the_core_has_a_layer() -> None:
    assert {p.name for p in CORE.iterdir() if p.is_dir()} == set(ALLOWED)


@pytest.mark.parametrize("layer", sorted(ALLOWED))
def test_core_includes_downwards_only(layer: str) -> None:
    upward = [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in sources(CORE / layer)
        for quote, name in includes(path)
        if quote == '"'
        and name != "mlc_llm.h"
        and name.split("/")[0] not in ALLOWED[layer] | {layer}
    ]
    assert upward == []


def test_third_party_headers_stay_in_their_rooms() -> None:
    strays = [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in sources(ROOT / "core") + sources(ROOT / "bindings")
        for _, name in includes(path)
        for pattern, room in GUARDED.items()
        if re.match(pattern, name) and not room.match(str(path.relative_to(ROOT)))
    ]
    assert strays == []


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module)
    return found


def top_level_imports(path: Path) -> set[str]:
    """What importing the module imports: not what its functions do later."""
    body = ast.Module(ast.parse(path.read_text()).body, [])
    return {
        name
        for node in body.body
        for name in (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }


def test_only_the_compiler_imports_tvm() -> None:
    strays = [
        str(path.relative_to(ROOT))
        for path in PACKAGE.rglob("*.py")
        if PACKAGE / "compiler" not in path.parents
        and any(name.split(".")[0] in {"tvm", "tvm_ffi"} for name in imports(path))
    ]
    assert strays == []


def test_the_sdk_imports_the_compiler_only_inside_functions() -> None:
    strays = [
        str(path.relative_to(ROOT))
        for path in PACKAGE.rglob("*.py")
        if PACKAGE / "compiler" not in path.parents
        and any(name.startswith("mlc_llm.compiler") for name in top_level_imports(path))
    ]
    assert strays == []


def test_no_machine_paths_or_hosts() -> None:
    """The repository means the same on every machine."""
    pattern = re.compile(
        r"(?<![\w.])/(?:work|root|home/\w+)/|https?://(?!(?:127\.0\.0\.1|localhost))"
    )
    allowed = re.compile(r"LICENSE|tests/architecture/test_layers\.py")
    strays = []
    for folder in ("core", "bindings", "codegen", "cmake", "tests"):
        for path in (ROOT / folder).rglob("*"):
            name = str(path.relative_to(ROOT))
            if path.suffix not in {".h", ".cc", ".py", ".j2", ".cmake", ".md", ".txt"}:
                continue
            if not allowed.search(name):
                strays += [
                    f"{name}: {line.strip()}"
                    for line in path.read_text().splitlines()
                    if pattern.search(line)
                ]
    assert strays == []
