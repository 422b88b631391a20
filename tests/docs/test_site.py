"""The site as `./dev docs` builds it."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import pytest

SITE = Path(__file__).resolve().parents[2] / "build" / "site"


@pytest.fixture
def first_page() -> str:
    page = SITE / "index.html"
    if not page.is_file():
        pytest.skip("no site here: ./dev docs builds it")
    return page.read_text(encoding="utf-8")


def test_the_search_works_where_the_site_is_opened_from_a_folder(first_page: str) -> None:
    # A browser reads no JSON beside a page of file://, and starts no worker; scripts do load.
    assert "iframe-worker" in first_page
    script = (SITE / "search" / "search_index.js").read_text(encoding="utf-8")
    found = re.fullmatch(r"var __index\s*=\s*(.*?);?\s*", script, re.DOTALL)
    assert found, script[:80]
    texts = [entry["text"] for entry in json.loads(found[1])["docs"]]
    assert any("adapter" in text for text in texts)


def test_each_python_type_is_on_one_page_and_no_page_is_enormous(first_page: str) -> None:
    texts = {page.name: page.read_text("utf-8") for page in SITE.glob("reference/*.html")}
    described = [re.findall(r' id="([\w.]+)" class="doc', text) for text in texts.values()]
    names = [one for found in described for one in found]
    assert len(names) == len(set(names)) and "mlc_llm.types_gen.ChatCompletion" in names
    assert max(map(len, described)) < 450  # of some 100 pixels each
    assert max(map(len, texts.values())) < 600_000


def test_no_page_asks_another_host(first_page: str) -> None:
    loaded = re.findall(r"""<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]*)""", first_page)
    assert [address for address in loaded if "canonical" not in address] == []


def test_a_word_is_found_in_a_browser(first_page: str) -> None:
    sys.path.append(str(SITE.parents[1] / "tests" / "python" / "serve" / "page"))
    from driver import SECONDS, start_browser

    browser = start_browser()
    if isinstance(browser, str):
        pytest.skip(browser)
    try:
        browser.get((SITE / "index.html").as_uri())
        field = browser.find_element("css selector", "input.md-search__input")
        browser.execute_script("arguments[0].focus(); arguments[0].value = 'lora'", field)
        browser.execute_script("arguments[0].dispatchEvent(new KeyboardEvent('keyup'))", field)
        end = time.monotonic() + SECONDS
        while not (found := browser.find_elements("css selector", ".md-search-result__link")):
            assert time.monotonic() < end, browser.get_log("browser")
            time.sleep(0.1)
        assert any("adapters.html" in link.get_attribute("href") for link in found)
    finally:
        browser.quit()
