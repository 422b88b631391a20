"""A headless Chromium, the page of a real server, and the page of a scripted one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ..conftest import running_server
from .driver import Page, fresh_origin, start_browser
from .scripted import Scripted, ScriptedServer


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    driver = start_browser()
    if isinstance(driver, str):
        pytest.skip(driver)
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture(scope="session")
def url(browser: Any) -> Iterator[str]:
    with running_server("--enable-debug", "--enable-admin") as url:
        yield url
        browser.get("about:blank")  # the server waits for open connections


@pytest.fixture
def real(browser: Any, url: str) -> Page:
    """The page of the fake model."""
    return Page(browser, fresh_origin(url.rpartition(":")[2]))


@pytest.fixture(scope="session")
def scripted_server(browser: Any) -> Iterator[Scripted]:
    with ScriptedServer(Scripted()) as scripted:
        yield scripted
        browser.get("about:blank")


@pytest.fixture
def server(scripted_server: Scripted) -> Scripted:
    scripted_server.reset()
    return scripted_server


@pytest.fixture
def open_page(browser: Any, server: Scripted) -> Callable[[], Page]:
    """Opens the page of the scripted server, for tests that first prepare it."""
    return lambda: Page(browser, fresh_origin(server.port))


@pytest.fixture
def page(open_page: Callable[[], Page]) -> Page:
    return open_page()
