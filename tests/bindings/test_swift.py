"""The Swift package: its own tests, and that what is generated compiles without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mlc_llm.model_source import ResolvedModel

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "swift"))

import toolchain  # noqa: E402

GOLDEN = HERE.parent / "codegen" / "golden"
SOURCES = toolchain.PACKAGE / "Sources"


@pytest.fixture(scope="module")
def swift() -> str:
    found = toolchain.find_swift()
    if found is None:
        pytest.skip("swift is neither on PATH nor in its usual place")
    return found


def run(command: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, env={**toolchain.environment(), **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done


def test_the_package_passes_its_own_tests(swift: str, default_model: ResolvedModel) -> None:
    done = run(
        toolchain.command(swift, "test"),
        MLC_TEST_MODEL=str(default_model.folder),
        MLC_TEST_MODEL_LIB=str(default_model.model_lib),
    )
    counts = re.search(r"Test run with (\d+) tests.* passed", done.stdout + done.stderr)
    assert counts is not None and int(counts[1]) > 20, done.stdout[-2000:]


def test_the_package_passes_under_the_thread_sanitizer(
    swift: str, default_model: ResolvedModel, pytestconfig: pytest.Config
) -> None:
    if not pytestconfig.getoption("--long"):
        pytest.skip("builds everything once more; run with --long")
    scratch = ("--scratch-path", f"{toolchain.BUILD}-tsan", "--sanitize=thread")
    run(
        toolchain.command(swift, "test", *scratch),
        MLC_TEST_MODEL=str(default_model.folder),
        MLC_TEST_MODEL_LIB=str(default_model.model_lib),
        TSAN_OPTIONS="halt_on_error=1",
    )


def test_what_is_generated_from_the_small_schema_compiles(swift: str, tmp_path: Path) -> None:
    """With every feature of a schema, keywords as names among them."""
    for name in ("Types", "Completions"):
        text = (GOLDEN / f"{name}.gen.swift.txt").read_text(encoding="utf-8")
        text = re.sub(r"let schemaHash = .*\n", "", text)  # the real protocol is there too
        (tmp_path / f"Small{name}.swift").write_text(text, encoding="utf-8")
    (tmp_path / "Stub.swift").write_text(
        "extension Piece: FailableChunk {\n"
        "    public static func failed(_ request: Request, after last: Self?) -> Self { last! }\n"
        "}\n"
    )
    files = [*sorted((SOURCES / "MLCSwift").rglob("*.swift")), *sorted(tmp_path.glob("*.swift"))]
    compiler = str(Path(swift).with_name("swiftc"))
    options = ["-typecheck", "-swift-version", "6", "-warnings-as-errors", "-parse-as-library"]
    modules = ["-module-name", "MLCSwift", "-package-name", "small"]
    core = ["-Xcc", f"-fmodule-map-file={SOURCES / 'CMLCLLM' / 'module.modulemap'}"]
    run([compiler, *options, *modules, *core, *map(str, files)])
