"""Requests in another form than the core's: the event loop goes on while they are translated."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mlc_llm.serve import responses_routes
from mlc_llm.serve.registry import ModelRegistry
from mlc_llm.serve.responses_store import ResponseStore

from .conftest import PATIENCE, get, post
from .test_loading import SPEC, Serving, serving

ASKED: dict[str, Any] = {"input": "x", "max_output_tokens": 2}
LATER = {**ASKED, "background": True}


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    models = ModelRegistry()
    models.load(SPEC)
    with serving(models=models) as it:
        yield it


@pytest.mark.parametrize(
    ("asked", "owner", "step"),
    [
        (ASKED, responses_routes, "own_items"),
        (ASKED, responses_routes, "to_chat"),
        (ASKED, ResponseStore, "conversation"),
        (ASKED, ResponseStore, "put"),
        (LATER, responses_routes, "to_chat"),
        (LATER, ResponseStore, "put"),
        (LATER, ResponseStore, "update"),
    ],
)
def test_the_server_answers_others_meanwhile(
    server: Serving, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], owner: Any, step: str
) -> None:
    """A conversation behind a small request can be as long as a body may be."""
    url = f"{server.url}/v1/responses"
    first = post(url, json=ASKED).json()["id"]
    begun, go_on, gave_up = threading.Event(), threading.Event(), threading.Event()
    work = getattr(owner, step)

    def held_up(*arguments: Any) -> Any:
        begun.set()
        if not go_on.wait(PATIENCE / 4):
            gave_up.set()
        return work(*arguments)

    monkeypatch.setattr(owner, step, held_up)
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(post, url, json={**asked, "previous_response_id": first})
        assert begun.wait(PATIENCE)
        assert get(f"{server.url}/health").is_success and not gave_up.is_set()
        go_on.set()
        assert answer.result().is_success
