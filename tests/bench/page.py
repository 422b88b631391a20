"""How responsive the server's page is while an answer of 10,000 tokens comes, and in a long chat.

usage: ./dev bench page [--runs 3]    (needs chromium and chromium-driver)

A script answers with 2,000 tokens a second. The browser reports its long tasks
(PerformanceObserver): while one runs, the page does not react. The aim is less than 100 ms. Times
include the waiting for a processor, so the machine should have nothing else to do.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

from serve.page.driver import Page, fresh_origin, start_browser  # noqa: E402
from serve.page.scripted import Scripted, ScriptedServer  # noqa: E402

WATCH = """
window.tasks = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.tasks.push(Math.round(entry.duration));
}).observe({ type: "longtask" });
"""
PROSE = "The *page* cache keeps `keys` and **values** in pages of sixteen tokens, said he. "
LIST = "- an item with *some* text and [a link](http://localhost/)\n"
CODE = "for page in pages: cache.append(page)  # one more page\n"
TABLE = "| a cell | another *cell* | 12 |\n"
SHAPES = {
    "paragraphs": [PROSE + ("\n\n" if at % 6 == 5 else "") for at in range(500)],
    "one paragraph": [PROSE] * 500,
    "one list": [LIST] * 660,
    "one code block": ["```python\n", *[CODE] * 730],
    "one table": ["| a | b | c |\n|---|---|---|\n", *[TABLE] * 1200],
}


def tokens(pieces: list[str]) -> list[Any]:
    """Pieces as small as tokens, 40 of them in 20 ms."""
    texts = "".join(pieces)
    words = [texts[at : at + 4] for at in range(0, len(texts), 4)][:10_000]
    steps: list[Any] = []
    for at in range(0, len(words), 40):
        steps += [*words[at : at + 40], 0.02]
    return steps


def longest_ms(page: Page) -> int:
    return max([0, *page.script("return window.tasks")])


def one_answer(page: Page, server: Scripted, pieces: list[str]) -> tuple[float, int]:
    """Seconds of the answer, and its longest task."""
    server.answers.append(tokens(pieces))
    page.script(WATCH)
    begin = time.monotonic()
    page.ask("Write much")
    return time.monotonic() - begin, longest_ms(page)


def long_chat(page: Page, server: Scripted) -> int:
    """The longest task of what a user does in a chat of 10,000 tokens in 50 turns."""
    pieces = SHAPES["paragraphs"]
    for at in range(0, len(pieces), 10):
        server.answers.append(["".join(pieces[at : at + 10])])
        page.ask("More")
    page.script(WATCH)
    server.answers.append(tokens(pieces[:20]))
    page.ask("One more")
    page.element("search").send_keys("sixteen")
    page.new_chat()
    page.all("#chat-list .open")[0].click()
    return longest_ms(page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    browser = start_browser()
    if isinstance(browser, str):
        raise SystemExit(browser)
    with ScriptedServer(Scripted()) as server:
        for name, pieces in SHAPES.items():
            found = []
            for _ in range(runs):
                server.reset()
                page = Page(browser, fresh_origin(server.port))
                found.append(one_answer(page, server, pieces))
            tasks = ", ".join(f"{longest} ms" for _, longest in found)
            print(f"{name:15} {max(s for s, _ in found):5.1f} s  longest task {tasks}", flush=True)
        server.reset()
        page = Page(browser, fresh_origin(server.port))
        print(f"{'50 turns':15}          longest task {long_chat(page, server)} ms")
        browser.get("about:blank")
    browser.quit()


if __name__ == "__main__":
    main()
