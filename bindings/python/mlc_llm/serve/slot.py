"""A model that a server knows: whether it is in memory, who uses it, and who waits for it.

unloaded -> loading -> loaded -> leaving -> unloaded
               └─ failed ─┘ (refused for some time, then tried again)
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from mlc_llm.errors import MLCError, error_from_json
from mlc_llm.sdk.core_engine import CoreEngine
from mlc_llm.serve.abilities import Abilities, abilities_of
from mlc_llm.serve.catalogue import ModelSpec
from mlc_llm.serve.loading import Loading

Phase = Literal["unloaded", "loading", "loaded", "leaving"]
_FIRST_RETRY, _LAST_RETRY = 5.0, 300.0  # seconds until a model that failed is tried again


@dataclass(frozen=True)
class ServedModel:
    """A loaded model. It answers to its names and to the argument with which it was loaded."""

    names: tuple[str, ...]  # at least one; the first one is in its answers
    argument: str
    engine: CoreEngine
    created: int
    plan: Mapping[str, Any] = field(default_factory=dict[str, Any])  # by which it was loaded

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def device(self) -> str:
        return str(self.plan["device"])

    @property
    def num_bytes(self) -> int:
        """What its plan takes."""
        return int(self.plan["total_bytes"])

    @property
    def input_modalities(self) -> list[str]:
        """What it reads: "text", "image"."""
        return list(self.plan["input_modalities"])

    @property
    def takes_pictures(self) -> bool:
        return "image" in self.input_modalities

    @cached_property
    def abilities(self) -> Abilities:
        return abilities_of(self.engine, self.plan)


class Failure:
    """Why a load failed, and when the next attempt may be made: later after each failure."""

    def __init__(self, error: MLCError, before: Failure | None) -> None:
        self._error = error
        self.wait: float = _FIRST_RETRY if before is None else min(2 * before.wait, _LAST_RETRY)
        self._until = time.monotonic() + self.wait

    @property
    def holds(self) -> bool:
        return time.monotonic() < self._until

    def error(self) -> MLCError:
        """A new error for each request."""
        return error_from_json(self._error.to_dict())


@dataclass(eq=False)
class Slot:
    """All fields are protected by the registry's lock."""

    spec: ModelSpec
    given: bool = False  # by the command line or /admin/load
    phase: Phase = "unloaded"
    served: ServedModel | None = None
    users: int = 0  # leases on the loaded model
    waiting: list[Lease] = field(default_factory=list)
    last_use: float = 0.0  # the monotonic clock
    idle_timeout: float | None = None
    asleep: bool = False
    failure: Failure | None = None
    loading: Loading = field(default_factory=Loading)
    created: int = field(default_factory=lambda: int(time.time()))

    def __post_init__(self) -> None:
        self.idle_timeout = self.spec.idle_timeout

    @property
    def name(self) -> str:
        return self.spec.names[0]

    @property
    def is_idle(self) -> bool:
        return self.phase == "loaded" and self.users == 0

    @property
    def stays(self) -> bool:
        """Whether it neither sleeps nor leaves by being idle."""
        return self.spec.pinned or self.idle_timeout is None or self.asleep

    def idle_at(self) -> float | None:
        """When it has been idle for long enough to sleep or leave; None: it stays, or is in use."""
        stays = self.stays or not self.is_idle
        return None if stays else self.last_use + (self.idle_timeout or 0.0)

    def describe(self, name: str | None = None) -> dict[str, Any]:
        """OpenAI's model object, with one of its names and the model's state."""
        fields: dict[str, Any] = {"object": "model", "created": self.created, "owned_by": "mlc_llm"}
        named = name or self.name
        if (adapter := self.spec.adapter_of(named)) is not None:
            fields |= {"parent": self.name, "root": self.spec.adapters[adapter]}
        if (served := self.served) is not None:  # another thread may unload it
            fields["input_modalities"] = served.input_modalities
        return {"id": named, **fields, **self._state()}

    @property
    def all_names(self) -> tuple[str, ...]:
        """Of the model and of its adapters."""
        return (*self.spec.names, *self.spec.adapters)

    def _state(self) -> dict[str, Any]:
        if self.phase == "loading":
            return {"status": "loading", "progress": self.loading.progress()["progress"]}
        if self.phase == "unloaded" and self.failure is not None:
            return {"status": "failed"}
        return {"status": "sleeping" if self.asleep else self.phase}


class Lease:
    """A request's hold on a model, which is loaded if it is not, and stays until `release`.

    with models.lease("name") as lease:
        served = await lease.model()
    """

    def __init__(self, slot: Slot, release: Callable[[Lease], None]) -> None:
        self.slot = slot
        self.name = slot.name  # in the answers
        self.future: Future[ServedModel] = Future()
        self.counted = False  # among the users of its model
        self.keep_alive: float | None = None  # from now on the model's idle timeout
        self._release = release

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    async def model(self) -> ServedModel:
        """Waits for the model. Raises MLCError if it cannot be loaded."""
        await self.ready()
        return self.future.result()

    async def ready(self, seconds: float | None = None) -> bool:
        """Waits for the end of the load. Returns False if it takes longer."""
        if self.future.done() or seconds == 0:
            return self.future.done()
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(woken.set)

        self.future.add_done_callback(wake)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(woken.wait(), seconds)
        return self.future.done()

    def progress(self) -> dict[str, Any]:
        """How far the load is, as `/ready` says it."""
        return self.slot.loading.progress()

    def release(self) -> None:
        """Call it once; the model may leave afterwards."""
        self._release(self)
