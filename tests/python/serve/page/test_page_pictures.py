"""Takes the pictures of the page in docs/pictures: MLC_TEST_PICTURES=docs/pictures ./dev test
python/serve/page/test_page_pictures.py."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .driver import Page
from .scripted import Model, Scripted

FOLDER = os.environ.get("MLC_TEST_PICTURES")
pytestmark = pytest.mark.skipif(not FOLDER, reason="MLC_TEST_PICTURES names no folder")
ANSWER = """The **page cache** keeps keys and values in pages of 16 tokens:

1. A *block table* says which pages a sequence owns.
2. Sequences with the same beginning share pages: of $n$ tokens $\\lfloor n / 16 \\rfloor$ pages.

```python
pages = -(-num_tokens // 16)  # rounded up
```

| tokens | pages |
|--:|--:|
| 16 | 1 |
| 100 | 7 |
"""
ARABIC = """الذاكرة المؤقتة تحفظ المفاتيح والقيم في صفحات من **16** رمزًا.

- لكل تسلسل جدول صفحات.
- The block table says which pages a sequence owns.
"""
THOUGHT = "The user wants the idea and an example. A division that rounds up is enough."
USAGE = {
    "prompt_tokens": 412, "completion_tokens": 96, "prompt_tokens_details": {"cached_tokens": 256},
    "extra": {"decode_tokens_per_s": 41.3, "ttft_s": 0.18, "end_to_end_latency_s": 2.5},
}  # fmt: skip


def chats(page: Page, server: Scripted) -> None:
    """Several chats; the last one has thoughts, Markdown and an open call."""
    for title in ("Names for a boat", "Einkaufsliste für Samstag", "كيف حالك اليوم؟"):
        page.ask(title)
        page.new_chat()
    function = {"name": "calculator", "arguments": '{"expression": "ceil(100 / 16)"}'}
    call = {"index": 0, "id": "c", "function": function}
    server.answers += [
        [{"reasoning_content": THOUGHT}, ANSWER],
        ["Let me compute it.", {"tool_calls": [call]}],
    ]
    page.ask("How does a paged cache work?")
    page.ask("How many pages do 100 tokens need?")


def take(page: Page, name: str, width: int, height: int, scroll: int = 10**6) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.script("document.getElementById('chat').scrollTop = arguments[0]", scroll)
    shot = page.browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    Path(str(FOLDER), f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


@pytest.fixture
def filled(open_page: Callable[[], Page], server: Scripted) -> Any:
    server.models = [Model("Qwen3-4B-q4f16_1", 8192, takes_pictures=True)]
    server.usage = USAGE
    page = open_page()
    chats(page, server)
    yield page
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    page.dark(False)


def test_pictures_of_wide_windows(filled: Page) -> None:
    filled.dark(False)
    filled.click("#chat summary")
    filled.script("document.activeElement.blur()")
    take(filled, "page-light", 1100, 780, scroll=0)
    filled.dark(True)
    filled.open_settings()
    filled.script("document.activeElement.blur()")
    take(filled, "page-dark", 1280, 780)


def test_pictures_of_phones(filled: Page, server: Scripted) -> None:
    take(filled, "page-phone", 390, 780)
    filled.dark(True)
    filled.script("document.getElementById('toggle-chats').click()")
    take(filled, "page-phone-chats", 390, 780)
    filled.script("document.getElementById('toggle-chats').click()")
    filled.script("document.getElementById('new').click()")
    server.answers.append([ARABIC])
    filled.dark(False)
    filled.open_settings()
    filled.script(
        "const box = document.getElementById('language'); box.value = 'ar';"
        "box.dispatchEvent(new Event('change'));"
    )
    filled.until(lambda: filled.text("#send") == "إرسال", "no Arabic")
    filled.ask("كيف تعمل الذاكرة المؤقتة؟")
    filled.script("document.activeElement.blur()")
    take(filled, "page-phone-arabic", 390, 780)
