"""The Swift programs of the pages compile, each against the module; those of examples/swift run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import native_examples
import pytest
import snippets

sys.path.append(str(snippets.ROOT / "tests" / "bindings" / "swift"))

import toolchain  # noqa: E402

Compile = Callable[..., None]


@pytest.fixture(scope="module")
def compile_swift() -> Compile:
    """Runs the compiler with the package's module, which the binding's tests build too."""
    swift = toolchain.find_swift()
    if swift is None:
        pytest.skip("swift is neither on PATH nor in its usual place")

    def run(command: list[str]) -> None:
        done = subprocess.run(command, env=toolchain.environment(), capture_output=True, text=True)
        assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]

    run(toolchain.command(swift, "build", "--target", "MLCSwift"))
    core = toolchain.PACKAGE / "Sources" / "CMLCLLM" / "module.modulemap"
    modules = ["-I", str(toolchain.BUILD / "debug" / "Modules")]
    modules += ["-Xcc", f"-fmodule-map-file={core}"]
    compiler = [str(Path(swift).with_name("swiftc")), "-swift-version", "6", *modules]
    return lambda *words: run([*compiler, *map(str, words)])


@pytest.mark.parametrize("snippet", snippets.to_run("swift"), ids=lambda s: s.place)
def test_a_program_compiles(
    snippet: snippets.Snippet, compile_swift: Compile, tmp_path: Path
) -> None:
    program = tmp_path / "main.swift"
    program.write_text(f"// {snippet.place}\n{snippet.text}", encoding="utf-8")
    compile_swift("-typecheck", "-warnings-as-errors", program)


@pytest.mark.parametrize(
    "name", native_examples.all_of(snippets.ROOT / "examples" / "swift", ".swift")
)
def test_an_example_runs(name: str, compile_swift: Compile, tmp_path: Path) -> None:
    source, program = tmp_path / "main.swift", tmp_path / name
    shutil.copy(snippets.ROOT / "examples" / "swift" / f"{name}.swift", source)
    library = ("-L", toolchain.LIBRARY.parent, "-lmlc_llm")
    objects = sorted((toolchain.BUILD / "debug" / "MLCSwift.build").glob("*.o"))
    compile_swift("-warnings-as-errors", source, *objects, *library, "-o", program)
    native_examples.check(name, [str(program)], toolchain.environment(), tmp_path)
