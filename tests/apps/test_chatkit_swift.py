"""ChatKit for Swift, the logic of the apps for iOS and macOS: its own tests, on this system."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlc_llm.prepare.model_source import ResolvedModel, resolve_model

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGE = ROOT / "apps" / "ios" / "ChatKit"
sys.path.insert(0, str(ROOT / "tests" / "bindings" / "swift"))

import toolchain  # noqa: E402

BUILD = toolchain.BUILD  # MLCSwift is compiled there, by the binding's own tests


@pytest.fixture(scope="module")
def swift() -> str:
    found = toolchain.find_swift()
    if found is None:
        pytest.skip("swift is neither on PATH nor in its usual place")
    return found


@pytest.fixture(scope="module")
def model() -> ResolvedModel:
    return resolve_model(None, quantization="q4f32_1", progress=lambda _: None)


@pytest.fixture(scope="module")
def hub(model: ResolvedModel) -> Iterator[str]:
    command = [sys.executable, str(HERE / "model_hub.py"), str(model.folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.kill()


def run_tests(swift: str, model: ResolvedModel, hub: str, build: Path, *options: str) -> int:
    """How many tests have passed."""
    place = ("--package-path", str(PACKAGE), "--scratch-path", str(build))
    done = subprocess.run(
        [swift, "test", *place, *toolchain.FLAGS, *options],
        env={
            **toolchain.environment(),
            "CHATKIT_HUB": hub,
            "MLC_TEST_MODEL": str(model.folder),
            "MLC_TEST_MODEL_LIB": str(model.model_lib),
            "TSAN_OPTIONS": "halt_on_error=1",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.stderr + done.stdout)[-6000:]  # the tests write to stdout
    counts = re.search(r"Test run with (\d+) tests.* passed", done.stdout + done.stderr)
    assert counts is not None and "skipped:" not in done.stdout, done.stdout[-3000:]
    return int(counts[1])


def test_chatkit_passes_its_own_tests(swift: str, model: ResolvedModel, hub: str) -> None:
    assert run_tests(swift, model, hub, BUILD) >= 50


def test_chatkit_passes_under_the_thread_sanitizer(
    swift: str, model: ResolvedModel, hub: str, pytestconfig: pytest.Config
) -> None:
    if not pytestconfig.getoption("--long"):
        pytest.skip("builds everything once more; run with --long")
    build = BUILD.with_name(f"{BUILD.name}-tsan")
    assert run_tests(swift, model, hub, build, "--sanitize=thread") >= 50


def test_the_app_over_it_has_the_right_types(swift: str, tmp_path: Path) -> None:
    """MLCChat's own calls, against ChatKit and stand-ins for the names of SwiftUI that it uses."""

    def compile_swift(*arguments: str | Path) -> None:
        compiler = str(Path(swift).with_name("swiftc"))
        done = subprocess.run(
            [compiler, "-swift-version", "6", "-I", tmp_path, *arguments],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-4000:]

    def module(name: str, *sources: Path) -> None:
        place = ("-emit-module-path", tmp_path / f"{name}.swiftmodule")
        compile_swift("-emit-module", "-module-name", name, "-parse-as-library", *place, *sources)

    place = ("--package-path", str(PACKAGE), "--scratch-path", str(BUILD))
    subprocess.run(
        [swift, "build", "--build-tests", *place, *toolchain.FLAGS],
        env=toolchain.environment(),
        check=True,
        capture_output=True,
    )
    module("SwiftUI", *sorted((HERE / "standins").glob("*.swift")))
    for name in ("AppKit", "CoreTransferable", "PhotosUI", "UniformTypeIdentifiers"):
        source = tmp_path / f"{name}.swift"
        source.write_text("@_exported import SwiftUI\n")
        module(name, source)
    modules = ("-I", BUILD / "debug" / "Modules")
    core = toolchain.PACKAGE / "Sources" / "CMLCLLM" / "module.modulemap"
    sources = sorted((ROOT / "apps" / "ios" / "MLCChat" / "Sources").glob("*.swift"))
    compile_swift(
        "-typecheck", "-warnings-as-errors", *modules, "-Xcc", f"-fmodule-map-file={core}", *sources
    )


def test_the_sources_are_as_the_formatter_leaves_them(swift: str) -> None:
    folders = [str(PACKAGE / name) for name in ("Sources", "Tests")]
    settings = str(PACKAGE / ".swift-format")
    folders.append(str(HERE / "standins"))
    done = subprocess.run(
        [swift, "format", "lint", "--strict", "--configuration", settings, "-r", *folders],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
