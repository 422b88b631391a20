"""The page in headless Chromium: keyboard, themes, widths, languages, accessibility, policy."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from .driver import REQUESTED, Page
from .scripted import Model, Scripted

Keys = pytest.importorskip("selenium.webdriver").Keys
ANSWER = """# Title

Some *text* with `code` and a [link](http://localhost/docs).

> a quote

| a | b |
|---|---|
| 1 | 2 |

```python
print("a long line " * 100)  # it scrolls by itself: {}
```
""".replace("{}", "x" * 200)
CALL = {"index": 0, "id": "c", "function": {"name": "calculator", "arguments": "{}"}}
# How far something is wider than its place.
OVERFLOW = (
    "return Math.max(...['html', '#chat', '#chats', '#settings'].map((selector) => {"
    "  const { scrollWidth, clientWidth } = document.querySelector(selector);"
    "  return scrollWidth - clientWidth;"
    "}))"
)


def fill(page: Page, server: Scripted) -> None:
    """A chat with one of everything."""
    server.models.append(Model("a-model-with-a-very-long-name-for-a-narrow-window", 8192, True))
    server.answers += [
        [{"reasoning_content": "Let me see."}, ANSWER],
        [{"tool_calls": [CALL]}],
    ]
    page.ask("Show me everything")
    page.ask("And a call")


def test_it_asks_no_other_host_and_breaks_no_policy(page: Page, server: Scripted) -> None:
    page.browser.get_log("browser")
    page.script(
        "addEventListener('securitypolicyviolation', (e) => (window.broken = e.blockedURI))"
    )
    fill(page, server)
    page.element("models").click()
    page.press(Keys.ESCAPE)
    here = page.script("return location.origin")
    assert all(name.startswith(here) for name in page.script(REQUESTED))
    assert page.script("return window.broken") is None
    assert [entry for entry in page.browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_the_policy_stops_inline_scripts_styles_and_html(page: Page) -> None:
    page.script(
        "const script = document.createElement('script');"
        "try { script.textContent = 'window.hacked = 1'; } catch { window.refused = true; }"
        "document.body.append(script);"
        "try { document.body.innerHTML = '<b>x</b>'; } catch { window.noHtml = true; }"
        "const style = document.createElement('style');"
        "style.textContent = '#title { color: rgb(1, 2, 3) }'; document.head.append(style);"
    )
    assert page.script("return window.hacked") is None
    assert page.script("return window.noHtml") is True
    colour = page.script("return getComputedStyle(document.getElementById('title')).color")
    assert colour != "rgb(1, 2, 3)"


def test_it_works_by_keyboard_alone(page: Page, server: Scripted) -> None:
    assert page.focused() == "prompt"
    page.press("One line", Keys.SHIFT, "\n", Keys.NULL, "and another", "\n")
    page.until(lambda: page.bodies("user") == ["One line\nand another"], "it is not sent")
    page.finish()
    page.press(Keys.CONTROL, Keys.SHIFT, "o", Keys.NULL)
    assert page.bodies("user") == [] and page.focused() == "prompt"
    page.press(Keys.CONTROL, "k", Keys.NULL)
    assert page.focused() == "search"
    page.press(Keys.CONTROL, ",", Keys.NULL)
    assert page.element("settings").is_displayed() and page.focused() == "system"
    page.press(Keys.CONTROL, ",", Keys.NULL)
    assert not page.element("settings").is_displayed()
    assert page.focused() == "toggle-settings"
    page.press("/")
    assert page.focused() == "prompt" and page.element("prompt").get_property("value") == ""
    page.element("title").click()
    page.script("document.activeElement.blur()")
    page.press("?")
    assert "Ctrl+K" in page.text("dialog kbd")
    page.press(Keys.ESCAPE)
    page.until(lambda: page.all("dialog") == [], "the dialog stays")


def test_escape_stops_the_answer(page: Page, server: Scripted) -> None:
    server.answers.append(["It began ", threading.Event()])
    page.say("Go on and on")
    page.until(lambda: page.bodies("assistant") == ["It began"], "nothing comes")
    page.press(Keys.ESCAPE)
    page.finish()
    assert "stopped" in page.text("#chat .stats")


def test_the_focus_goes_from_left_to_right(page: Page) -> None:
    page.ask("Hello")
    assert page.script("return document.querySelector('a, button').className") == "skip"
    page.script("document.querySelector('.skip').focus()")
    seen: list[str] = []
    for _ in range(30):
        page.press(Keys.TAB)
        seen.append(page.focused())
        if seen[-1] == "send":
            break
    known = ["toggle-chats", "models", "new", "search", "export-all", "prompt", "send"]
    assert [name for name in seen if name in known] == known


def colour_of(page: Page) -> str:
    return str(page.script("return getComputedStyle(document.body).backgroundColor"))


def test_dark_mode_follows_the_system_or_the_user(page: Page) -> None:
    try:
        page.dark(False)
        light = colour_of(page)
        page.dark(True)
        dark = colour_of(page)
        assert light == "rgb(255, 255, 255)" and dark != light
        page.open_settings()
        page.click("#theme option[value=light]")
        assert colour_of(page) == light
        page.reload()
        assert colour_of(page) == light
    finally:
        page.dark(False)


def test_a_phone_shows_one_thing_at_a_time(page: Page, server: Scripted) -> None:
    fill(page, server)
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.reload()
        assert page.script(OVERFLOW) <= 0
        assert not page.element("chats").is_displayed()
        page.element("toggle-chats").click()
        assert page.element("chats").is_displayed() and page.script(OVERFLOW) <= 0
        page.element("toggle-settings").click()
        assert page.element("settings").is_displayed()
        assert not page.element("chats").is_displayed()
        page.press(Keys.ESCAPE)
        assert not page.element("settings").is_displayed()
        assert page.problems() == []
        page.ask("Hello")
        assert page.bodies("assistant")[-1] == "Yes."
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_an_empty_chat_offers_questions_and_settings_say_their_defaults(
    page: Page, server: Scripted
) -> None:
    page.open_settings()
    hints = [page.element(name).get_attribute("placeholder") for name in ("temperature", "seed")]
    assert hints == ["Default: 0.2", ""]
    server.usage = {"prompt_tokens": 10, "completion_tokens": 1}
    page.click(".examples button")
    page.until(lambda: page.bodies("assistant") == ["Yes."], "it is not asked")
    assert page.bodies("user") == ["Explain in simple words why the sky is blue."]
    page.finish()
    assert page.text("#chat .stats").startswith("1 token ·") and page.all(".examples") == []


def test_tables_formulas_and_code_are_drawn(page: Page, server: Scripted) -> None:
    table = "| a | number |\n|---|--:|\n| environmentally friendly | 1 |"
    server.answers.append([f"$$\\sqrt{{x}}$$\n\n{table}\n\n```py\ndef", " f(): pass\n```\n"])
    page.ask("Show me")
    assert page.text("math").replace("√", "") == "x"
    assert page.texts(".code-keyword") == ["def", "pass"]
    server.answers.append(["- so:\n\n  ```py\n  return", " 1"])  # the fence stays open
    page.ask("And now?")
    assert page.texts(".code-keyword")[2:] == ["return"]
    align = "return getComputedStyle(document.querySelectorAll('#chat td')[1]).textAlign"
    assert page.script(align) == "right"
    size = {"width": 300, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:  # a word is wider than its column's share, and is not cut
        wide = "const range = document.createRange();"
        wide += "range.selectNodeContents(document.querySelector('#chat td'));"
        wide += "return new Set([...range.getClientRects()].map((r) => r.top)).size"
        assert page.script(wide) <= 2 and page.script(OVERFLOW) <= 0
        assert page.problems() == []
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_right_to_left_text_and_languages(page: Page, server: Scripted) -> None:
    server.answers.append(["مرحبا بك\n\nHello to you"])
    page.ask("مرحبا")
    direction = (
        "return [...document.querySelectorAll(arguments[0])].map(e => e.matches(':dir(rtl)'))"
    )
    assert page.script(direction, "#chat .user .body") == [True]
    assert page.script(direction, "#chat .assistant p") == [True, False]
    assert page.script(OVERFLOW) <= 0
    page.open_settings()
    page.click("#language option[value=ar]")
    page.until(lambda: page.element("send").text == "إرسال", "no Arabic")
    assert page.script("return document.documentElement.dir") == "rtl"
    left = page.script("return document.getElementById('chats').getBoundingClientRect().left")
    assert left > 600  # the chats are on the right
    page.reload()
    assert page.element("new").text == "محادثة جديدة"
    page.click("#language option[value=de]")
    page.until(lambda: page.element("new").text == "Neuer Chat", "no German")
    page.click("#language option[value=zh]")
    page.until(lambda: page.element("new").text == "新对话", "no Chinese")


@pytest.mark.parametrize("is_dark", [False, True])
def test_it_is_accessible(page: Page, server: Scripted, is_dark: bool, tmp_path: Path) -> None:
    fill(page, server)
    try:
        page.dark(is_dark)
        page.open_settings()
        page.click("#chat summary")
        assert page.problems() == []
        page.all("#chat .edit-message")[0].click()
        assert page.problems() == []
        page.element("models").click()
        assert page.problems() == []
        page.press(Keys.ESCAPE)
        page.all("#chat-list .more")[0].click()
        assert page.problems() == []
    finally:
        page.dark(False)


def test_the_accessibility_checks_find_what_is_wrong(page: Page) -> None:
    page.script(
        "const add = (tag, values) => document.querySelector('main').append("
        "  Object.assign(document.createElement(tag), values));"
        "add('button', {}); add('img', {src: 'page/icon.svg'}); add('p', {id: 'title'});"
        "add('div', {className: 'bad', textContent: 'pale'});"
        "document.querySelector('.bad').style.color = 'rgb(200, 200, 200)';"
        "document.getElementById('prompt').style.outline = 'none';"
    )
    found = "\n".join(page.problems())
    for words in ("no name: <button", "no alt", "contrast", "the id title", "focus does not show"):
        assert words in found


def test_the_routes_are_shown_without_a_network(browser: Any, url: str) -> None:
    browser.get(f"{url}/docs")
    deadline = time.monotonic() + 90
    while not (shown := browser.find_elements("css selector", ".opblock-summary-path")):
        assert time.monotonic() < deadline, browser.page_source[:1000]
        time.sleep(0.05)
    assert "/v1/chat/completions" in [path.text.replace("\u200b", "") for path in shown]
    assert all(name.startswith(url) for name in browser.execute_script(REQUESTED))
