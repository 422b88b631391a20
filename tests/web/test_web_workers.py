"""Engines in a page's thread, in a worker and in a service worker of headless Chromium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from chat_browser import Browser, opened

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def page(request: pytest.FixtureRequest, site: Path) -> Iterator[Browser]:
    for name in ("engines.html", "engines.js", "engine_worker.js"):
        shutil.copyfile(HERE / name, site / name)
    with opened(request, site, "engines.html") as browser:
        yield browser


def test_threads_and_workers_answer_alike(page: Browser) -> None:
    texts = page.call("inThread")
    assert len(set(texts)) == 4 and all(texts)
    assert page.call("inWorker") == texts
    assert page.call("inServiceWorker") == texts
    born = page.call("born")
    page.stop_service_workers()  # as the browser does with one that has no work
    assert page.call("again") == texts[0]
    assert page.call("born") != born


def test_a_worker_that_is_killed(page: Browser) -> None:
    code, text = page.call("killed")
    assert code == "worker_lost" and text == page.call("inThread")[0]


@pytest.mark.parametrize("backend", ["cache", "opfs"])
def test_what_a_browser_keeps(page: Browser, backend: str) -> None:
    page.call("inThread")
    page.clear()
    before, after, deleted, text = page.call("kept", backend)
    assert (before, after, deleted) == (False, True, False) and text
