"""Models that requests load: who is loaded, who leaves, who waits."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from mlc_llm.errors import MLCError
from mlc_llm.sdk.core_engine import CoreEngine
from mlc_llm.serve import registry as registry_module
from mlc_llm.serve.catalogue import Catalogue, ModelSpec, models_in
from mlc_llm.serve.loading import Loading
from mlc_llm.serve.ollama_models import running
from mlc_llm.serve.registry import ModelRegistry
from mlc_llm.serve.room import ModelLimits
from mlc_llm.serve.slot import Lease

from .conftest import FAKE, PATIENCE, started_server
from .test_loading import wait_until

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Hello"}]
PLAN_BYTES = 32768  # of the fake model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models, and one whose tokenizer is damaged."""
    folder = tmp_path_factory.mktemp("models")
    for name in ("a", "b", "c", "damaged"):
        shutil.copytree(FAKE, folder / name)
    (folder / "damaged" / "tokenizer.json").write_text("{")
    return folder


@pytest.fixture
def models(folder: Path) -> Iterator[ModelRegistry]:
    """Memory for two."""
    with registry(folder, ModelLimits(memory_bytes=2 * PLAN_BYTES)) as models:
        yield models


@contextmanager
def registry(folder: Path, limits: ModelLimits, **settings: Any) -> Iterator[ModelRegistry]:
    template = ModelSpec(model=None, device="fake", **settings)
    models = ModelRegistry(
        catalogue=Catalogue(sources=[models_in(folder, template)]), limits=limits
    )
    yield models
    models.close()
    assert models.wait_for_loads(PATIENCE)


def loaded(models: ModelRegistry) -> set[str]:
    return {one.name for one in models.all()}


def use(models: ModelRegistry, name: str) -> Lease:
    """A lease on a model that is loaded."""
    lease = models.lease(name)
    lease.future.result(PATIENCE)
    return lease


def test_a_lease_loads_and_the_least_used_leaves(models: ModelRegistry) -> None:
    assert loaded(models) == set()
    for name, there in (("a", "a"), ("b", "ab"), ("a", "ab"), ("c", "ac"), ("b", "bc")):
        lease = use(models, name)
        assert lease.future.result().engine.model.name == name
        assert loaded(models) == set(there)
        lease.release()


def test_a_model_in_use_ends_its_requests_first(models: ModelRegistry) -> None:
    first, second = use(models, "a"), use(models, "b")
    third = models.lease("c")
    wait_until(lambda: "leaving" in {slot.phase for slot in models.known()})
    late = models.lease("a")  # a is leaving: its next load answers
    assert not third.future.done() and not late.future.done()
    first.release()
    assert third.future.result(PATIENCE).name == "c"
    second.release()
    assert late.future.result(PATIENCE).name == "a"
    assert loaded(models) == {"a", "c"}


def test_a_lease_that_nobody_wants_any_more(models: ModelRegistry) -> None:
    holders = [use(models, "a"), use(models, "b")]
    waiting = models.lease("c")
    waiting.release()
    for lease in holders:
        lease.release()
    wait_until(lambda: "c" in loaded(models))
    assert all(slot.users == 0 for slot in models.known())


def test_pinned_models_stay(folder: Path) -> None:
    pinned = ModelSpec(model=str(folder / "a"), device="fake", names=("a",), pinned=True)
    other = ModelSpec(model=str(folder / "b"), device="fake", names=("b",))
    models = ModelRegistry(catalogue=Catalogue([pinned, other]), limits=ModelLimits(max_loaded=1))
    use(models, "a").release()
    slot = next(slot for slot in models.known() if slot.name == "a")
    slot.idle_timeout = 60.0
    assert slot.served is not None
    assert running(slot, slot.served)["expires_at"].startswith("2318"), "it never leaves"
    with pytest.raises(MLCError, match="--max-loaded 1") as error:
        use(models, "b")
    assert error.value.code == "out_of_resources" and loaded(models) == {"a"}
    models.close()


def test_a_load_that_fails(models: ModelRegistry) -> None:
    held = use(models, "a")
    leases = [models.lease("damaged") for _ in range(3)]
    errors = [lease.future.exception(PATIENCE) for lease in leases]
    assert {type(error).__name__ for error in errors} == {"CorruptFileError"}
    with pytest.raises(MLCError, match="tokenizer.json"):  # it is not tried again at once
        models.lease("damaged")
    assert held.future.result().engine.plan()["fits"]
    held.release()


def test_a_slow_load_does_not_hold_up_others(
    models: ModelRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, resolve = threading.Event(), models_core().resolve_model

    def slow(model: Any, **options: Any) -> Any:
        if str(model).endswith("/b"):
            go_on.wait(PATIENCE)
        return resolve(model, **options)

    monkeypatch.setattr("mlc_llm.sdk.core_engine.resolve_model", slow)
    waiting = models.lease("b")
    for name in ("a", "c"):
        use(models, name).release()
    assert not waiting.future.done()
    state = {slot.name: slot.describe()["status"] for slot in models.known()}
    assert state == {"a": "loaded", "b": "loading", "c": "loaded", "damaged": "unloaded"}
    go_on.set()
    assert waiting.future.result(PATIENCE).name == "b"


def models_core() -> Any:
    from mlc_llm.sdk import core_engine

    return core_engine


def test_unknown_names(models: ModelRegistry) -> None:
    with pytest.raises(MLCError, match="near names: damaged") as error:
        models.lease("damagd")
    assert error.value.code == "model_not_found"


def test_idle_models_leave(folder: Path) -> None:
    with registry(folder, ModelLimits(), idle_timeout=0.2) as models:
        held = use(models, "a")
        use(models, "b").release()
        wait_until(lambda: loaded(models) == {"a"})
        held.release()
        wait_until(lambda: loaded(models) == set())
        use(models, "a").release()
        assert loaded(models) == {"a"}


def test_idle_models_sleep(folder: Path) -> None:
    def state(models: ModelRegistry) -> str:
        return str(models.look_up("a").describe()["status"])

    with registry(folder, ModelLimits(), idle_timeout=0.1, when_idle="sleep") as models:
        use(models, "a").release()
        wait_until(lambda: state(models) == "sleeping")
        lease = use(models, "a")
        assert state(models) == "loaded"
        assert lease.future.result().engine.call("tokenize", {"text": "x"})
        lease.release()


def test_a_request_says_how_long_its_model_stays(models: ModelRegistry) -> None:
    lease = use(models, "a")
    lease.keep_alive = 0
    lease.release()
    wait_until(lambda: loaded(models) == set())
    lease = use(models, "a")
    assert lease.slot.idle_timeout is None  # of the model again


def test_letting_a_model_leave_does_not_load_it(folder: Path) -> None:
    arguments = ("--models-dir", str(folder), "--device", "fake")
    with started_server(*arguments) as server, httpx.Client(base_url=server.url) as http:
        answer = http.post(
            "/api/generate", json={"model": "a", "keep_alive": 0, "stream": False}, timeout=PATIENCE
        )
        assert answer.json()["done_reason"] == "unload"
        states = {one["id"]: one["status"] for one in http.get("/v1/models").json()["data"]}
        assert set(states.values()) == {"unloaded"}


def test_a_model_that_can_never_fit_makes_nobody_leave(folder: Path) -> None:
    with registry(folder, ModelLimits(memory_bytes=PLAN_BYTES)) as models:
        use(models, "a").release()
        models._room._limits = ModelLimits(memory_bytes=PLAN_BYTES - 1)
        with pytest.raises(MLCError, match="--memory-limit"):
            use(models, "b")
        assert loaded(models) == {"a"}


def test_nobody_leaves_for_a_model_larger_than_all_memory(folder: Path) -> None:
    with registry(folder, ModelLimits()) as models:
        for name in ("a", "b"):
            use(models, name).release()
        device = models.all()[0].device

        def plan(total: int) -> dict[str, Any]:
            free = 1000 + (2 - len(loaded(models))) * PLAN_BYTES
            sizes = {"total_bytes": total, "available_bytes": free, "fits": total <= free}
            return {"device": device, "reason": "the device has too little memory", **sizes}

        all_bytes = 1000 + 2 * PLAN_BYTES
        with pytest.raises(MLCError, match="too little memory"):
            with models._room.for_model(models.look_up("c"), lambda: plan(all_bytes + 1)):
                pass
        assert loaded(models) == {"a", "b"}
        with models._room.for_model(models.look_up("c"), lambda: plan(all_bytes)):
            assert loaded(models) == set()


def test_a_removed_model_is_not_known_any_more(tmp_path: Path) -> None:
    shutil.copytree(FAKE, tmp_path / "a")
    with registry(tmp_path, ModelLimits()) as models:
        use(models, "a").release()
        shutil.rmtree(tmp_path / "a")
        models.unload("a")
        wait_until(lambda: models.known() == [])


def test_a_load_that_is_cancelled_before_it_begins(
    models: ModelRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Loading.run

    def run_late(loading: Loading) -> None:
        loading.cancel()
        run(loading)

    with monkeypatch.context() as patch:
        patch.setattr(Loading, "run", run_late)
        lease = models.lease("a")
        assert isinstance(lease.future.exception(PATIENCE), MLCError)
    use(models, "a").release()


def test_unloading_while_admin_load_loads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def slow(*arguments: Any, **options: Any) -> CoreEngine:
        begun.set()
        assert goes_on.wait(PATIENCE)
        return CoreEngine(*arguments, **options)

    monkeypatch.setattr(registry_module, "CoreEngine", slow)
    models = ModelRegistry()
    with ThreadPoolExecutor(1) as threads:
        load = threads.submit(models.load, ModelSpec(model=str(folder / "a"), device="fake"))
        assert begun.wait(PATIENCE)
        models.unload("a")
        goes_on.set()
        with pytest.raises(MLCError) as unloaded:
            load.result(PATIENCE)
    assert unloaded.value.code == "model_unloaded" and models.all() == []
    with pytest.raises(MLCError):
        models.lease("a")
    models.close()


def test_unloading_a_model_that_is_leaving(models: ModelRegistry) -> None:
    first, second = use(models, "a"), use(models, "b")
    third = models.lease("c")
    wait_until(lambda: first.slot.phase == "leaving")
    late = models.lease("a")
    models.unload("a")  # its next load begins
    first.release()
    assert third.future.result(PATIENCE).name == "c"
    second.release()
    assert late.future.result(PATIENCE).name == "a"
    assert first.slot.phase == "loaded" and first.slot.users == 1


def test_a_server_that_ends_tells_those_who_wait(folder: Path) -> None:
    with registry(folder, ModelLimits(max_loaded=1)) as models:
        use(models, "a")
        waiting = models.lease("b")
        wait_until(lambda: "leaving" in {slot.phase for slot in models.known()})
        models.close()
        assert isinstance(waiting.future.exception(PATIENCE), MLCError)
        with pytest.raises(MLCError) as error:
            models.lease("a")
        assert error.value.code == "shutting_down"


def test_a_hundred_switches_lose_nothing(folder: Path) -> None:
    """Three clients, three models, memory for two; streams, whole answers, clients that leave."""
    options = ("--models-dir", str(folder), "--memory-limit", str(2 * PLAN_BYTES))
    with started_server("--device", "fake", *options) as server:

        def client(number: int) -> Counter[str]:
            seen: Counter[str] = Counter()
            with httpx.Client(base_url=server.url, timeout=PATIENCE) as http:
                for turn in range(100):
                    name = "abc"[(number + turn) % 3]
                    body = {"model": name, "messages": HELLO, "max_tokens": 3}
                    if (number + turn) % 4 == 0:
                        answer = http.post(CHAT, json={**body, "stream": True})
                        ok = f'"model":"{name}"' in answer.text and "[DONE]" in answer.text
                        seen["streamed" if ok else answer.text] += 1
                    elif (number + turn) % 7 == 0:
                        with http.stream("POST", CHAT, json={**body, "stream": True}):
                            seen["left"] += 1
                    else:
                        answer = http.post(CHAT, json=body)
                        ok = answer.is_success and answer.json()["model"] == name
                        seen["whole" if ok else answer.text] += 1
            return seen

        with ThreadPoolExecutor(3) as pool:
            seen = sum(pool.map(client, range(3)), Counter[str]())
        assert set(seen) == {"streamed", "left", "whole"} and sum(seen.values()) == 300, seen
        assert server.errors.count("Unloaded") >= 100
        states = httpx.get(f"{server.url}/v1/models", timeout=PATIENCE).json()["data"]
        assert sum(one["status"] == "loaded" for one in states) <= 2
        assert server.stop() == 0 and "Traceback" not in server.errors


def test_a_stream_tells_how_far_the_load_is(models: ModelRegistry) -> None:
    from mlc_llm.serve.body_room import Body, BodyRoom
    from mlc_llm.serve.inference import AnswerFormat, RequestHandler
    from mlc_llm.serve.options import ServeOptions

    async def text_of() -> str:
        holders = [use(models, "a"), use(models, "b")]
        body = Body(BodyRoom(1 << 20))
        body.data = b'{"messages": [{"role": "user", "content": "x"}], "stream": true}'
        with models.lease("c") as lease:
            handler = RequestHandler(lease, AnswerFormat(), ServeOptions())
            answer = await handler.run(None, "chat.completions", body, stream=True)  # type: ignore[arg-type]
            parts: list[bytes] = []

            async def receive() -> dict[str, Any]:
                await asyncio.sleep(3600)
                raise AssertionError

            async def send(message: Any) -> None:
                parts.append(message.get("body", b""))
                if len(parts) == 2:  # the head, and the first event
                    for holder in holders:
                        holder.release()

            await answer({"type": "http"}, receive, send)
            return b"".join(parts).decode()

    text = asyncio.run(text_of())
    assert text.startswith(': {"status": "loading", "model": "c", "stage": "files"')
    assert text.endswith("data: [DONE]\n\n")


def test_fifty_known_models_cost_nothing_at_the_start(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"m{number}").mkdir()
        (tmp_path / f"m{number}" / "config.json").write_text("{}")
    looked = []

    def source() -> list[ModelSpec]:
        looked.append(time.monotonic())
        return list(models_in(tmp_path, ModelSpec(model=None))())

    catalogue = Catalogue(sources=[source])
    assert not looked
    assert catalogue.find("m7") is not None and catalogue.find("m8") is not None
    assert len(looked) == 1 and len(catalogue.all()) == 50
