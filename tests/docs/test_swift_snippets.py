"""The Swift programs of the pages and of examples/swift compile, each against the module."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import snippets

sys.path.append(str(snippets.ROOT / "tests" / "bindings" / "swift"))

import toolchain  # noqa: E402

SOURCES = toolchain.PACKAGE / "Sources"
Compile = Callable[..., None]


@pytest.fixture(scope="module")
def compile_swift(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Type-checks a program against the package's module, which is made once."""
    swift = toolchain.find_swift()
    if swift is None:
        pytest.skip("swift is neither on PATH nor in its usual place")
    folder = tmp_path_factory.mktemp("swift")
    core = ["-Xcc", f"-fmodule-map-file={SOURCES / 'CMLCLLM' / 'module.modulemap'}"]

    def run(*options: str) -> None:
        command = [str(Path(swift).with_name("swiftc")), "-swift-version", "6", *core, *options]
        done = subprocess.run(
            command, env=toolchain.environment(), capture_output=True, text=True, cwd=folder
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]

    files = sorted(map(str, (SOURCES / "MLCSwift").rglob("*.swift")))
    made = ["-emit-module-path", str(folder / "MLCSwift.swiftmodule")]
    module = ["-module-name", "MLCSwift", "-package-name", "mlc"]
    run("-emit-module", *made, "-parse-as-library", *module, *files)
    return lambda *files: run(
        "-typecheck", "-warnings-as-errors", "-I", str(folder), *map(str, files)
    )


def example(path: Path) -> snippets.Snippet:
    place, text = str(path.relative_to(snippets.ROOT)), path.read_text(encoding="utf-8")
    return snippets.Snippet(place, 1, "swift", text)


EXAMPLES = [example(path) for path in sorted(snippets.ROOT.glob("examples/swift/*.swift"))]


@pytest.mark.parametrize("snippet", snippets.to_run("swift") + EXAMPLES, ids=lambda s: s.place)
def test_a_program_compiles(
    snippet: snippets.Snippet, compile_swift: Compile, tmp_path: Path
) -> None:
    program = tmp_path / "main.swift"
    program.write_text(f"// {snippet.place}\n{snippet.text}", encoding="utf-8")
    compile_swift(program)
