"""The pages' Swift programs compile: all of them beside the package's sources, in one call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import snippets

sys.path.append(str(snippets.ROOT / "tests" / "bindings" / "swift"))

import toolchain  # noqa: E402

# Pages whose programs another test runs.
ELSEWHERE = {"docs/helpers.md"}
SOURCES = toolchain.PACKAGE / "Sources"


def function_of(snippet: snippets.Snippet, number: int) -> str:
    """A block as the body of a function, compiled in the module that it imports."""
    body = snippet.text.replace("import MLCSwift\n", "")
    return f"func snippet{number}() async throws {{  // {snippet.place}\n{body}}}\n"


def test_the_programs_compile(tmp_path: Path) -> None:
    swift = toolchain.find_swift()
    if swift is None:
        pytest.skip("swift is neither on PATH nor in its usual place")
    programs = [s for s in snippets.to_run("swift") if s.page not in ELSEWHERE]
    assert len(programs) >= 3
    text = "\n".join(function_of(program, i) for i, program in enumerate(programs))
    (tmp_path / "Snippets.swift").write_text(text, encoding="utf-8")
    files = [*sorted((SOURCES / "MLCSwift").rglob("*.swift")), tmp_path / "Snippets.swift"]
    options = ["-typecheck", "-swift-version", "6", "-warnings-as-errors", "-parse-as-library"]
    modules = ["-module-name", "MLCSwift", "-package-name", "snippets"]
    core = ["-Xcc", f"-fmodule-map-file={SOURCES / 'CMLCLLM' / 'module.modulemap'}"]
    compiler = str(Path(swift).with_name("swiftc"))
    done = subprocess.run(
        [compiler, *options, *modules, *core, *map(str, files)],
        env=toolchain.environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
