"""examples/web-chat: a static page that runs its model in the browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WASM = ROOT / "build" / "web" / "mlc_llm.wasm"
CONFIG = ROOT / "bindings" / "web" / "deno.json"
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from chat_site import DENO, build_site  # noqa: E402


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


# What the page says only when it has lost a server, or when a server refuses its key.
OF_A_SERVER = {"fault.invalid_api_key", "fault.lost", "fault.lost_waiting", "fault.shutting_down"}


@pytest.mark.parametrize(
    ("language", "word"), [("en", "server"), ("de", "server"), ("zh", "服务器"), ("ar", "خادم")]
)
def test_the_page_names_no_server(site: Path, language: str, word: str) -> None:
    texts = json.loads((site / "page" / "texts" / f"{language}.json").read_text("utf-8"))
    served = ROOT / "bindings/python/mlc_llm/serve/page/texts" / f"{language}.json"
    assert texts.keys() == json.loads(served.read_text("utf-8")).keys()
    assert {key for key, text in texts.items() if word in text.lower()} == OF_A_SERVER


def test_the_page_s_engine_answers(site: Path) -> None:
    if not WASM.is_file():
        pytest.skip("mlc_llm.wasm is not built: ./dev build web")
    run(site, "core")


def test_a_folder_that_is_no_site_is_not_replaced(site: Path, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(SystemExit, match="choose another --output"):
        build_site(site.parent / "dist", tmp_path)
    assert (tmp_path / "letter.txt").read_text() == "mine"


def test_a_package_without_the_sdk_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="mlc-app-config.json: no such file"):
        build_site(tmp_path, tmp_path / "site")
