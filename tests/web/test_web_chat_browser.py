"""examples/web-chat in headless Chromium, with the real core and the fake model."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WASM = ROOT / "build" / "web" / "mlc_llm.wasm"
_CONTROLLED = "return navigator.serviceWorker.controller !== null"
_KEPT = """
const [done] = arguments;
caches.keys().then(async (names) => {
  const name = names.find((name) => name.startsWith("web-chat-"));
  done(name ? (await (await caches.open(name)).keys()).length : 0);
});
"""


def page_driver() -> ModuleType:
    path = ROOT / "tests" / "python" / "serve" / "page" / "driver.py"
    spec = importlib.util.spec_from_file_location("page_driver", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DRIVER = page_driver()


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder; remembers what was asked for."""

    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def browser(request: pytest.FixtureRequest) -> Iterator[Any]:
    if not request.config.getoption("--long"):
        pytest.skip("a browser's tests; run with --long")
    if not WASM.is_file():
        pytest.skip("mlc_llm.wasm is not built: ./dev build web")
    driver = DRIVER.start_browser()
    if isinstance(driver, str):
        pytest.skip(driver)
    try:
        yield driver
    finally:
        driver.quit()


def test_the_page_answers_and_then_needs_no_network(site: Path, browser: Any) -> None:
    Quiet.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    page = DRIVER.Page(browser, DRIVER.fresh_origin(server.server_address[1]))
    page.until(lambda: "one" in page.texts("#model option"), "the model is not listed")
    page.set("max_tokens", 20)
    page.ask("Hello there")
    (first,) = page.bodies("assistant")
    assert first and page.notice() == ""
    page.until(lambda: page.script(_CONTROLLED), "no service worker")
    assert browser.execute_async_script(_KEPT) > 80
    numbers = len(Quiet.asked)
    page.reload()  # a second visit: the models are kept, and so is the page
    page.until(lambda: "one" in page.texts("#model option"), "the model is not listed")
    page.ask("And again")
    assert not any("models/bundle" in path or ".wasm" in path for path in Quiet.asked[numbers:])
    server.shutdown()
    server.server_close()
    thread.join()
    page.reload()
    page.until(lambda: "one" in page.texts("#model option"), "the page does not open offline")
    page.new_chat()
    page.set("max_tokens", 20)
    page.ask("Hello there")
    assert page.bodies("assistant")[-1] and page.notice() == ""
