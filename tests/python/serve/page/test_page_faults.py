"""The page in headless Chromium: errors in words, lost connections, keys, models that load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ..conftest import running_server
from .driver import Page, fresh_origin
from .scripted import CUT, Refusal, Scripted

Keys = pytest.importorskip("selenium.webdriver").Keys


def test_a_refused_request_says_why(real: Page) -> None:
    real.set("temperature", 9)
    real.ask("Hello")
    assert "refuses this request" in real.notice() and "temperature" in real.notice()
    assert real.bodies("user") == ["Hello"]  # nothing is lost
    real.set("temperature", 1)
    real.set("max_tokens", 5)
    real.click("#notice button")
    real.until(lambda: real.bodies("assistant"), "no answer after a retry")
    real.finish()
    assert real.notice() == ""


def test_errors_of_the_server_come_in_words(page: Page, server: Scripted) -> None:
    faults = {
        "queue_full": (429, "too many requests"),
        "shutting_down": (503, "shutting down"),
        "model_not_loaded": (503, "No model is loaded"),
        None: (500, "made a mistake (500)"),
    }
    page.say("Hello")
    for code, (status, words) in faults.items():
        page.finish()
        server.answers.append(Refusal(status, code, "the server's words"))
        page.click("#chat .retry, #notice button")
        page.until(lambda wanted=words: wanted in page.notice(), "no words")
        assert "the server's words" in page.notice()


def test_a_context_that_the_server_finds_too_long(page: Page, server: Scripted) -> None:
    page.ask("one")
    server.answers.append(Refusal(400, "context_length_exceeded", "1 too many"))
    page.ask("two")
    assert "longer than the model's context" in page.notice()
    page.click("#notice button")
    page.until(lambda: len(server.requests) == 3, "nothing is sent")
    assert [message["content"] for message in server.requests[-1]["messages"]] == ["two"]


def test_a_cut_answer_is_kept_and_can_be_asked_again(page: Page, server: Scripted) -> None:
    server.answers += [["Half of ", CUT], ["The whole answer."]]
    page.ask("Hello")
    assert page.bodies("assistant") == ["Half of"] and "connection" in page.notice()
    page.click("#notice button")
    page.until(lambda: page.bodies("assistant") == ["The whole answer."], "no other answer")
    assert len(server.requests[1]["messages"]) == 1


def test_a_lost_connection_is_shown_until_it_is_back(page: Page, server: Scripted) -> None:
    server.is_alive = False
    server.answers.append([CUT])
    page.say("Hello")
    page.until(lambda: "does not answer" in page.element("banner").text, "nothing is shown")
    assert page.element("banner").get_attribute("role") == "alert"
    server.is_alive = True
    page.until(lambda: not page.element("banner").is_displayed(), "it is still shown")


def test_a_key_is_asked_for_and_opens_everything(browser: Any) -> None:
    with running_server("--api-key", "sk-page", "--enable-admin") as url:
        assert httpx.get(f"{url}/page-info").status_code == 401
        page = Page(browser, fresh_origin(url.rpartition(":")[2]))
        assert "API key" in page.notice() and page.focused() == "key"
        page.element("key").send_keys("sk-page\t")
        page.until(lambda: page.element("model").get_property("value"), "no models")
        assert page.notice() == ""
        page.set("max_tokens", 3)
        page.ask("Hello")
        assert page.bodies("assistant") != []
        page.element("models").click()
        page.click("[aria-label='Unload fake-model']")
        page.until(lambda: "Done" in page.element("model-status").text, "it is not unloaded")
        page.press(Keys.ESCAPE)
        page.ask("And now?")
        assert "No model is loaded" in page.notice()


def test_the_progress_of_the_server_is_shown(
    open_page: Callable[[], Page], server: Scripted
) -> None:
    models, server.models, server.loading = server.models, [], 0.42
    page = open_page()
    banner = page.element("banner")
    assert "loads its models: 42" in banner.text
    assert (banner.get_attribute("role"), banner.get_attribute("class")) == ("status", "")
    assert page.script("return document.querySelector('#banner progress').value") == 0.42
    server.models, server.loading = models, None
    page.until(lambda: not page.element("banner").is_displayed(), "it is still shown")
    assert page.element("model").get_property("value") == "scripted"
