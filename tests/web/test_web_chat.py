"""examples/web-chat: a static page that runs its model in the browser."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WASM = ROOT / "build" / "web" / "mlc_llm.wasm"
CONFIG = ROOT / "bindings" / "web" / "deno.json"
sys.path.insert(0, str(ROOT))

from devtools import web_sdk  # noqa: E402

DENO = web_sdk.find_deno()
pytestmark = pytest.mark.skipif(DENO is None, reason="deno is not installed: pip install deno")


def build_site(package: Path, output: Path) -> None:
    spec = importlib.util.spec_from_file_location("web_chat", ROOT / "examples/web-chat/build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.build(package, output)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page whose only model is the fake one; the SDK is transpiled without declarations."""
    folder = tmp_path_factory.mktemp("web-chat")
    package = folder / "dist"
    assert DENO is not None
    web_sdk.build(DENO, package / "lib" / "web", declarations=False)
    shutil.copytree(ROOT / "tests" / "fixtures" / "fake-model", package / "bundle" / "one")
    record = {"model_id": "one", "model": "../../bundle/one/", "device": "fake"}
    config = package / "lib" / "web" / "mlc-app-config.json"
    config.write_text(json.dumps({"model_list": [record]}), encoding="utf-8")
    build_site(package, folder / "site")
    return folder / "site"


def run(site: Path, *arguments: str) -> None:
    script = str(Path(__file__).parent / "site.ts")
    options = ("--quiet", "--no-check", "--allow-all", "--location=http://127.0.0.1/")
    environment = {**os.environ, "NO_COLOR": "1", "DENO_DIR": str(site.parent / "deno")}
    done = subprocess.run(
        [str(DENO), "run", *options, f"--config={CONFIG}", script, str(site), *arguments],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0 and "all cases hold" in done.stdout, done.stderr[-4000:]


def test_the_page_opens_without_a_network(site: Path) -> None:
    files = json.loads((site / "files.json").read_text())["files"]
    assert {"index.html", "page/app.js", "page/io/server.js", "worker.js"} <= set(files)
    assert not any(name.endswith((".wasm", ".bin", ".d.ts")) for name in files)
    run(site)


def test_the_page_s_engine_answers(site: Path) -> None:
    if not WASM.is_file():
        pytest.skip("mlc_llm.wasm is not built: ./dev build web")
    run(site, "core")


def test_a_package_without_the_sdk_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="mlc-app-config.json: no such file"):
        build_site(tmp_path, tmp_path / "site")
