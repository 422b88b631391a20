"""The page at `/` in headless Chromium: streaming, stop, parameters, stats, schema box, offline."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import running_server

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no browser: install chromium and chromium-driver"
)
webdriver = pytest.importorskip("selenium.webdriver")

SECONDS = 30
# What the page asked for, as the browser saw it: other hosts would be in here.
REQUESTED = "return performance.getEntriesByType('resource').map(e => e.name)"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_server("--enable-debug") as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for argument in (
        "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,800",
        # No other host is reached, whatever the page or the browser should want.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-gpu",
    ):  # fmt: skip
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


class Page:
    """What a person does and sees."""

    def __init__(self, browser: Any, url: str) -> None:
        self.browser = browser
        browser.get(url)
        self.until(lambda: self.element("model").get_property("options"), "no models")

    def element(self, name: str) -> Any:
        return self.browser.find_element("id", name)

    def set(self, name: str, value: object) -> None:
        self.element(name).clear()
        self.element(name).send_keys(str(value))

    def say(self, text: str) -> None:
        self.set("prompt", text)
        self.element("prompt").send_keys("\n")

    def articles(self, role: str) -> list[str]:
        found = self.browser.find_elements("css selector", f"#chat article.{role}")
        return [article.get_property("textContent") for article in found]

    def until(self, holds: Callable[[], Any], what: str) -> None:
        deadline = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < deadline, (what, self.articles("error"))
            time.sleep(0.02)

    def idle(self) -> bool:
        return bool(self.element("send").text == "Send")

    def finish(self) -> None:
        self.until(self.idle, "the answer does not end")


@pytest.fixture
def page(browser: Any, url: str) -> Page:
    return Page(browser, url)


def test_an_answer_is_streamed_with_its_stats(page: Page) -> None:
    page.set("max_tokens", 600)
    page.set("seed", 7)
    page.say("Hello there")
    lengths = set()
    while not page.idle():
        lengths.update(len(text) for text in page.articles("assistant"))
    page.finish()
    assert page.articles("user") == ["Hello there"] and page.articles("error") == []
    (answer,) = page.articles("assistant")
    assert len(answer) > 20
    assert "first token" in page.element("stats").text and "tokens" in page.element("stats").text
    page.say("And again")  # the conversation goes on
    page.finish()
    assert len(page.articles("assistant")) == 2
    picture = os.environ.get("MLC_TEST_SCREENSHOT")
    if picture:
        page.browser.save_screenshot(picture)
    page.element("new").click()
    assert page.articles("user") == []


def test_parameters_reach_the_model(page: Page) -> None:
    texts = []
    for seed in (3, 3, 4):
        page.element("new").click()
        page.set("seed", seed)
        page.set("temperature", 1.5)
        page.set("max_tokens", 12)
        page.set("system", "Be brief.")
        page.say("Hello")
        page.finish()
        texts += page.articles("assistant")
        assert "12 tokens" in page.element("stats").text
    assert texts[0] == texts[1] != texts[2]


def test_stop_keeps_what_has_come(page: Page, url: str) -> None:
    # The fake model ends by itself: an endless answer asks for its switch.
    page.browser.execute_script(
        "const whole = requestBody; requestBody = () => "
        "({...whole(), max_tokens: 8000, debug_config: {ignore_eos: true}});"
    )
    page.say("Go on and on")
    page.until(lambda: any(page.articles("assistant")), "nothing comes")
    page.element("send").click()
    page.finish()
    (stopped,) = page.articles("assistant")
    time.sleep(0.3)
    assert page.articles("assistant") == [stopped] and page.articles("error") == []


def test_the_schema_box_shapes_the_answer(page: Page) -> None:
    schema = {
        "type": "object",
        "properties": {"answer": {"enum": ["yes", "no"]}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    page.set("schema", json.dumps(schema))
    page.say("Yes or no?")
    page.finish()
    (answer,) = page.articles("assistant")
    assert json.loads(answer)["answer"] in ("yes", "no")


def test_faults_are_shown_and_nothing_is_lost(page: Page) -> None:
    page.set("temperature", 9)
    page.say("Hello")
    page.finish()
    (error,) = page.articles("error")
    assert "temperature" in error and page.element("prompt").get_property("value") == "Hello"
    page.set("temperature", 1)
    page.set("schema", "{no JSON")
    page.say("Hello")
    page.finish()
    assert len(page.articles("error")) == 2


def test_it_asks_no_other_host_and_has_no_faults(page: Page, url: str) -> None:
    page.say("Hello")
    page.finish()
    assert all(name.startswith(url) for name in page.browser.execute_script(REQUESTED))
    severe = [entry for entry in page.browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert [entry for entry in severe if "favicon" not in entry["message"]
            and "400" not in entry["message"]] == []  # fmt: skip


def test_a_key_is_asked_for(browser: Any, tmp_path: Path) -> None:
    with running_server("--api-key", "sk-page") as url:
        browser.get(url)
        key = browser.find_element("id", "key")
        key.send_keys("sk-page\t")
        deadline = time.monotonic() + SECONDS
        while not browser.find_element("id", "model").get_property("options"):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_the_routes_are_shown_without_a_network(browser: Any, url: str) -> None:
    browser.get(f"{url}/docs")
    deadline = time.monotonic() + SECONDS
    while not (shown := browser.find_elements("css selector", ".opblock-summary-path")):
        assert time.monotonic() < deadline, browser.page_source[:1000]
        time.sleep(0.05)
    assert "/v1/chat/completions" in [path.text.replace("\u200b", "") for path in shown]
    assert all(name.startswith(url) for name in browser.execute_script(REQUESTED))
