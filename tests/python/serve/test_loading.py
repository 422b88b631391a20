"""What a server says while its models are being loaded."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import uvicorn

from mlc_llm.errors import CorruptFileError, MLCError
from mlc_llm.prepare.progress import Steps
from mlc_llm.serve.app import create_app
from mlc_llm.serve.lifecycle import Drain, Server
from mlc_llm.serve.loading import Load, Loading, LoadingSteps, Report
from mlc_llm.serve.options import ServeOptions
from mlc_llm.serve.registry import ModelRegistry, ModelSpec

from .conftest import FAKE, PATIENCE, get, post, started_server

CHAT = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}
SPEC = ModelSpec(model=str(FAKE), device="fake")


class Serving:
    """A server in a thread of this process, whose loads the test holds up."""

    def __init__(self, models: ModelRegistry, *jobs: tuple[str, Load]) -> None:
        self.models, drain = models, Drain()
        self.models.loading = Loading(jobs)
        app = create_app(self.models, ServeOptions(), drain)
        config = uvicorn.Config(app, port=0, log_level="warning")
        self.server = Server(config, drain, self.models, drain_seconds=PATIENCE)
        self.thread = threading.Thread(target=self.server.run)

    @property
    def url(self) -> str:
        return self.server.url

    def end(self) -> None:
        self.server.handle_exit(signal.SIGINT, None)
        self.thread.join(PATIENCE)
        self.server.finish_loading()


@contextmanager
def serving(*jobs: tuple[str, Load], models: ModelRegistry | None = None) -> Iterator[Serving]:
    it = Serving(models or ModelRegistry(), *jobs)
    it.thread.start()
    wait_until(lambda: it.url)
    try:
        yield it
    finally:
        if it.thread.is_alive():
            it.end()


def wait_until(condition: object) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_it_listens_before_its_models_are_loaded() -> None:
    go_on, models = threading.Event(), ModelRegistry()

    def load_first(report: Report) -> None:
        models.load(SPEC, report)

    def load_second(report: Report) -> None:
        report(0.5, "weights")
        go_on.wait(PATIENCE)

    with serving(("fake-model", load_first), ("second", load_second), models=models) as it:
        wait_until(lambda: models.loading.progress()["progress"] == 0.75)
        assert get(f"{it.url}/health").status_code == 200
        answer = get(f"{it.url}/ready")
        body = answer.json()
        assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
        assert (body["object"], body["error"]["code"]) == ("error", "model_loading")
        assert (body["status"], body["model"], body["stage"], body["progress"]) == (
            "loading", "second", "weights", 0.75,
        )  # fmt: skip
        first = post(f"{it.url}/v1/chat/completions", json=CHAT)
        assert first.status_code == 200, "the first model answers while the second is loaded"
        second = post(f"{it.url}/v1/chat/completions", json={**CHAT, "model": "second"})
        assert (second.status_code, second.json()["error"]["code"]) == (503, "model_loading")
        go_on.set()
        wait_until(lambda: get(f"{it.url}/ready").status_code == 200)
        assert get(f"{it.url}/ready").json() == {"status": "ready", "model": "fake-model"}
    assert it.server.failure is None


def test_a_load_that_fails_ends_the_server() -> None:
    def fail(report: Report) -> None:
        raise CorruptFileError("damaged", param="tokenizer.json")

    with serving(("a", fail)) as it:
        it.thread.join(PATIENCE)
        assert not it.thread.is_alive()
    assert isinstance(it.server.failure, CorruptFileError)


def test_a_server_that_ends_cancels_its_load() -> None:
    told = []

    def load(report: Report) -> None:
        while report(0.5, "weights"):
            time.sleep(0.01)
        told.append("cancelled")

    with serving(("a", load)) as it:
        assert get(f"{it.url}/ready").status_code == 503
    assert told == ["cancelled"] and it.server.failure is None


def test_how_far_the_loads_are() -> None:
    seen = []

    def load(report: Report) -> None:
        for fraction in (0.25, 1.0):
            assert report(fraction, "weights")
            seen.append(loading.progress())

    loading = Loading([("a", load), ("b", load)])
    assert not loading.ended and "a" in loading.refusal().message
    loading.run()
    assert loading.ended
    assert [(s["model"], s["progress"], s["stage"]) for s in seen] == [
        ("a", 0.125, "weights"), ("a", 0.5, "weights"),
        ("b", 0.625, "weights"), ("b", 1, "weights"),
    ]  # fmt: skip


def test_a_cancelled_load_is_told_so() -> None:
    told = []
    loading = Loading(
        [("a", lambda report: told.append(report(0.5, "weights"))), ("b", told.append)]
    )
    loading.cancel()
    loading.run()
    assert told == [] and not loading.ended


def test_an_unknown_name_may_be_one_that_is_being_loaded() -> None:
    models = ModelRegistry()
    models.loading = Loading([("a", lambda report: None)])
    for name in (None, "a", "b"):
        with pytest.raises(MLCError) as error:
            models.find(name)
        assert error.value.code == "model_loading"
    models.loading.run()
    with pytest.raises(MLCError) as error:
        models.find("b")
    assert error.value.code == "model_not_found"


def test_the_models_are_announced() -> None:
    """With the context that each has, and the address of the page."""
    with started_server(str(FAKE), "--device", "fake") as it:
        assert get(f"{it.url}/ready").json() == {"status": "ready", "model": "fake-model"}
        lines = (
            "running on",
            "fake-model: A chat may have ",
            f"ready on {it.url}",
            f"page is {it.url}/",
        )
        wait_until(lambda: all(line in it.errors for line in lines))
        assert sorted(lines, key=it.errors.index) == list(lines)
        assert it.stop() == 0


def test_downloading_converting_and_compiling_are_progress() -> None:
    seen: list[tuple[str, float]] = []
    steps = LoadingSteps(Steps())

    def look() -> None:
        state = loading.progress()
        seen.append((state["stage"], state["progress"]))

    def load(report: Report) -> None:
        look()
        with steps.step("Converting x") as convert:
            convert(0.5)
            look()
            with steps.step("Compiling x", lambda: 0.25):
                look()  # the slower one counts, but nothing goes back
            convert(1.0)
            look()
        look()
        with steps.step("Loading x"):
            report(0.5, "weights")
            look()
            report(1.0, "ready")
            look()

    loading = Loading([("x", load), ("y", lambda report: None)], steps)
    loading.run()
    assert seen == [
        ("files", 0.0), ("Converting x", 0.225), ("Converting x, Compiling x", 0.225),
        ("Converting x", 0.45), ("files", 0.45), ("weights", 0.475), ("ready", 0.5),
    ]  # fmt: skip
