"""Memory for models: who leaves when another one comes, and when a model has been idle for long.

The plan of a model decides before it is loaded. So the system never has to end the server.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mlc_llm.errors import MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.serve.slot import ServedModel, Slot

_log = logging.getLogger("uvicorn.error")
_LOOK_SECONDS = 0.5  # between two looks for idle models

MakePlan = Callable[[], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class ModelLimits:
    """What all models together may take."""

    memory_bytes: int | None = None  # on each device; None: what is free there
    max_loaded: int | None = None


@dataclass(eq=False)
class Slots:
    """The models that were asked for, by first name. The lock of `changed` protects them."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    by_name: dict[str, Slot] = field(default_factory=dict)
    closing: bool = False

    def all(self) -> list[Slot]:
        with self.changed:
            return list(self.by_name.values())

    def loaded(self) -> list[ServedModel]:
        return [served for slot in self.all() if (served := slot.served) is not None]


def stopping() -> MLCError:
    return error_of(reasons.SHUTTING_DOWN, "the server is shutting down")


class Room:
    """Gives memory to one load after the other, first come, first served."""

    def __init__(self, slots: Slots, limits: ModelLimits, evict: Callable[[Slot], None]) -> None:
        """`evict` waits for the last request of a leaving model, and frees its memory."""
        self._slots = slots
        self._limits = limits
        self._evict = evict
        self._turns: list[Slot] = []

    @contextmanager
    def for_model(self, slot: Slot, make_plan: MakePlan) -> Iterator[dict[str, Any]]:
        """Gives the plan of a model when its memory is there. The next model waits until the
        context ends. Raises MLCError if the plan cannot fit."""
        changed = self._slots.changed
        with changed:
            self._turns.append(slot)
            changed.wait_for(lambda: self._turns[0] is slot)
        try:
            yield self._make_room(slot, make_plan)
        finally:
            with changed:
                self._turns.remove(slot)
                changed.notify_all()

    def _make_room(self, slot: Slot, make_plan: MakePlan) -> dict[str, Any]:
        while not self._slots.closing:
            plan = make_plan()
            fault = self._why_not(plan)
            if fault is None:
                return plan
            victim = self._victim(slot, plan)
            if victim is None:
                raise error_of(reasons.OUT_OF_RESOURCES, fault, param="model")
            self._evict(victim)
        raise stopping()

    def _why_not(self, plan: dict[str, Any]) -> str | None:
        """Why a plan does not fit; None if it does."""
        loaded = self._slots.loaded()
        most, limit = self._limits.max_loaded, self._limits.memory_bytes
        if most is not None and len(loaded) >= most:
            return f"{len(loaded)} models are loaded already (--max-loaded {most})"
        taken = _bytes_on(plan["device"], loaded)
        if limit is not None and taken + plan["total_bytes"] > limit:
            return (
                f"the model takes {plan['total_bytes']} bytes, and {max(0, limit - taken)} of "
                f"{limit} are free (--memory-limit); a shorter context takes less (--overrides "
                f"max_total_seq_length=N), as do keys and values of 8 bits (--kv-cache-dtype q8)"
            )
        return None if plan["fits"] else str(plan["reason"])

    def _victim(self, slot: Slot, plan: dict[str, Any]) -> Slot | None:
        """The model that leaves for another one: the least recently used, one without requests
        first. None where the plan would not fit either after all have left that may. Those of the
        command line do not leave for each other."""
        with self._slots.changed:
            found = [
                one
                for one in self._slots.by_name.values()
                if one.phase == "loaded" and not one.spec.pinned and not (slot.given and one.given)
            ]
            if not found or not self._fits_without(found, plan):
                return None
            victim = min(found, key=lambda one: (one.users > 0, one.last_use))
            victim.phase = "leaving"
            return victim

    def _fits_without(self, leaving: list[Slot], plan: dict[str, Any]) -> bool:
        """Whether there is memory for a plan after these models have left."""
        limit, device = self._limits.memory_bytes, plan["device"]
        freed = _bytes_on(device, [one.served for one in leaving if one.served is not None])
        there = plan["available_bytes"] + freed
        if limit is not None:
            there = min(there, limit - _bytes_on(device, self._slots.loaded()) + freed)
        return bool(plan["total_bytes"] <= there)


def _bytes_on(device: str, models: list[ServedModel]) -> int:
    return sum(one.num_bytes for one in models if one.device == device)


class IdleWatch:
    """A thread that lets models sleep or leave when nobody has used them for long enough."""

    def __init__(self, slots: Slots, evict: Callable[[Slot], None]) -> None:
        self._slots = slots
        self._evict = evict
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Starts the thread if there is a model with a limit. Call it with the lock."""
        limited = any(slot.idle_timeout is not None for slot in self._slots.by_name.values())
        if self._thread is None and limited:
            self._thread = threading.Thread(target=self._run, name="idle models", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (slot := self._next()) is not None:
            if slot.phase == "leaving":
                self._evict(slot)
            elif (served := slot.served) is not None:
                _sleep(slot, served)

    def _next(self) -> Slot | None:
        """Waits for a model that has been idle for too long; None when the server ends."""
        slots = self._slots
        with slots.changed:
            while not slots.closing:
                now = time.monotonic()
                for slot in slots.by_name.values():
                    at = slot.idle_at()
                    if at is not None and at <= now:
                        slot.asleep = slot.spec.when_idle == "sleep" and slot.idle_timeout != 0
                        slot.phase = "loaded" if slot.asleep else "leaving"
                        return slot
                slots.changed.wait(_LOOK_SECONDS)
        return None


def _sleep(slot: Slot, served: ServedModel) -> None:
    """Gives back the memory of pages and of weights that can be read from their files again."""
    try:
        served.engine.call("memory.trim", {"level": "all"})
        _log.info("%s sleeps", slot.name)
    except MLCError as error:  # it was unloaded meanwhile
        _log.debug("%s does not sleep: %s", slot.name, error)
