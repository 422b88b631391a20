"""examples/web-chat in headless Chromium, with the real core and the fake model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_browser import DRIVER, Site, started

_CONTROLLED = "return navigator.serviceWorker.controller !== null"
_KEPT = """
const [done] = arguments;
caches.keys().then(async (names) => {
  const name = names.find((name) => name.startsWith("web-chat-"));
  done(name ? (await (await caches.open(name)).keys()).length : 0);
});
"""


@pytest.fixture
def browser(request: pytest.FixtureRequest) -> Iterator[Any]:
    with started(request) as driver:
        yield driver


def test_the_page_answers_and_then_needs_no_network(site: Path, browser: Any) -> None:
    server = Site(site)
    page = DRIVER.Page(browser, server.origin)
    page.until(lambda: "one" in page.texts("#model option"), "the model is not listed")
    page.set("max_tokens", 20)
    page.ask("Hello there")
    (first,) = page.bodies("assistant")
    assert first and page.notice() == ""
    page.until(lambda: page.script(_CONTROLLED), "no service worker")
    assert browser.execute_async_script(_KEPT) > 80
    numbers = len(server.asked)
    page.reload()  # a second visit: the models are kept, and so is the page
    page.until(lambda: "one" in page.texts("#model option"), "the model is not listed")
    page.ask("And again")
    assert not any("models/bundle" in path or ".wasm" in path for path in server.asked[numbers:])
    server.close()
    page.reload()
    page.until(lambda: "one" in page.texts("#model option"), "the page does not open offline")
    page.new_chat()
    page.set("max_tokens", 20)
    page.ask("Hello there")
    assert page.bodies("assistant")[-1] and page.notice() == ""
