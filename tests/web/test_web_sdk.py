"""The SDK for browsers, in Deno: types, style, and its behaviour over a core in memory."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "bindings" / "web" / "deno.json"
WASM = ROOT / "build" / "web" / "mlc_llm.wasm"
FAKE = ("cache", "engine", "library", "picture", "system", "webgpu", "worker")
REAL = ("real_core", "examples")
FOLDERS = (
    *("bindings/web/src", "tests/web", "tests/bindings/typescript", "examples/web"),
    *("tests/bench/web_parts", "tests/python/compiler/support"),
)


@pytest.fixture(scope="module")
def deno() -> str:
    beside = shutil.which("deno", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("deno")
    if found is None:
        pytest.skip("deno is not installed: pip install deno")
    return found


def run(deno: str, *arguments: str) -> None:
    environment = {**os.environ, "NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"}
    done = subprocess.run(
        [deno, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]


def sources() -> list[str]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.ts")]
    return [str(path.relative_to(ROOT)) for path in sorted(found)]


def test_everything_type_checks(deno: str) -> None:
    run(deno, "check", "--quiet", f"--config={CONFIG}", *sources())


def test_everything_has_the_formatter_s_style(deno: str) -> None:
    written = [path for path in sources() if not path.endswith(".gen.ts")]
    run(deno, "fmt", "--quiet", "--check", f"--config={CONFIG}", *written)
    run(deno, "lint", "--quiet", f"--config={CONFIG}", *written)


def run_cases(deno: str, *files: str) -> None:
    paths = [f"tests/web/{name}_test.ts" for name in files]
    options = ("--no-check", "--quiet", "--allow-read", "--allow-net", f"--config={CONFIG}")
    run(deno, "test", *options, *paths)


def test_every_case_holds(deno: str) -> None:
    run_cases(deno, *FAKE)


def test_every_case_holds_over_the_real_core(deno: str) -> None:
    if not WASM.is_file():
        pytest.skip("mlc_llm.wasm is not built: ./dev build web")
    run_cases(deno, *REAL)


def test_no_file_of_cases_is_left_out() -> None:
    files = {path.name for path in Path(__file__).parent.glob("*_test.ts")}
    assert files == {f"{name}_test.ts" for name in (*FAKE, *REAL)}


def test_the_npm_package_has_all_modules(
    deno: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """And none of its imports names a file that is not in it."""
    if not request.config.getoption("--long"):
        pytest.skip("takes half a minute; run with --long")
    sys.path.insert(0, str(ROOT))
    from devtools import web_sdk

    web_sdk.build(deno, tmp_path / "web")
    package = tmp_path / "web"
    manifest = json.loads((package / "package.json").read_text(encoding="utf-8"))
    assert (package / manifest["types"]).is_file() and "dependencies" not in manifest
    modules = [*package.rglob("*.js"), *package.rglob("*.d.ts")]
    assert len(modules) > 80
    for path in modules:
        for name in re.findall(r"(?:from|import)\s*\(?\s*\"([^\"]+)\"", path.read_text("utf-8")):
            target = path.parent / name
            assert name.startswith(".") and target.is_file(), f"{path}: {name}"
        assert str(ROOT) not in path.read_text("utf-8")
