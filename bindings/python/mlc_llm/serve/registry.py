"""The models of a server: which are known, which are in memory, and who waits for them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from mlc_llm.errors import InternalError, MLCError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare.model_source import StepListener
from mlc_llm.prepare.progress import steps_of
from mlc_llm.sdk.core_engine import CoreEngine
from mlc_llm.serve.adapters import load_all
from mlc_llm.serve.catalogue import Catalogue, ModelSpec
from mlc_llm.serve.loading import Loading, LoadingSteps, Report
from mlc_llm.serve.model_names import require_path
from mlc_llm.serve.room import IdleWatch, MakePlan, ModelLimits, Room, Slots, stopping
from mlc_llm.serve.slot import Failure, Lease, ServedModel, Slot

_log = logging.getLogger("uvicorn.error")
_MAX_MAKING = 4  # downloads, conversions and compilations at the same time


class ModelRegistry:
    """The known models and those in memory. Thread-safe.

    A request takes a *lease* on its model. The first lease loads the model, on a thread of its own;
    others wait for the same load. When the memory for a model's plan is not there, the model that
    was used least recently leaves first: it takes no new leases, and goes when its last one is
    released. So no request is lost. Leases that come meanwhile wait for its next load.

    With `any_name`, a model answers to every name if it is the only one, not counting the model for
    embeddings.
    """

    def __init__(
        self,
        listener: StepListener = None,
        *,
        any_name: bool = False,
        catalogue: Catalogue | None = None,
        limits: ModelLimits | None = None,
    ) -> None:
        self.loading = Loading()  # the models of the command line
        self._catalogue = catalogue
        self._any_name = any_name
        self._embedder: str | None = None
        self._listener = listener
        self._slots = Slots()
        self._room = Room(self._slots, limits or ModelLimits(), self._evict)
        self._idle = IdleWatch(self._slots, self._evict)
        self._making = threading.BoundedSemaphore(_MAX_MAKING)
        self._num_loads = 0  # those that run

    # Finding

    def lease(self, name: str | None) -> Lease:
        """Holds the model with that name; None or "" means the first one. Raises MLCError if it is
        unknown or its last load failed. Reads the disk if the name is not at hand."""
        return self._hold(self._slot(name))

    def lease_for_embeddings(self, name: str | None) -> Lease:
        """The same, for requests to which the model for embeddings answers if they name none."""
        embedder = self._at_hand(self._embedder)
        takes_all = not name or (self._any_name and self._at_hand(name) is None)
        return self._hold(embedder if embedder is not None and takes_all else self._slot(name))

    def is_at_hand(self, name: str | None) -> bool:
        """Whether a lease on that model reads no disk."""
        return self._catalogue is None or self._at_hand(name) is not None

    def look_up(self, name: str | None) -> Slot:
        """A known model, which is then at hand. Raises MLCError if it is unknown."""
        return self._slot(name)

    def find(self, name: str | None) -> ServedModel:
        """A model that is loaded now."""
        for slot in self._slots.all():
            served = slot.served  # another thread may unload it
            if served is not None and (not name or slot.spec.answers_to(name)):
                return served
        raise self.unknown(name) if self.loading.ended else self.loading.refusal()

    def all(self) -> list[ServedModel]:
        """The loaded models."""
        return self._slots.loaded()

    def known(self) -> list[Slot]:
        """Every known model with its state, those that were asked for first. Reads the disk: a
        model that was removed is not known any more."""
        specs = [] if self._catalogue is None else self._catalogue.all()
        there = {spec.names[0] for spec in specs}
        slots = [
            slot
            for slot in self._slots.all()
            if slot.given or slot.phase != "unloaded" or slot.name in there
        ]
        names = {slot.name for slot in slots}
        return [*slots, *(Slot(spec) for spec in specs if spec.names[0] not in names)]

    def chat_models(self) -> list[Slot]:
        """All known models but the one for embeddings."""
        return [slot for slot in self.known() if slot.name != self._embedder]

    # Loading and unloading

    def load(self, spec: ModelSpec, report: Report | None = None) -> ServedModel:
        """Loads a model on this thread. Raises MLCError with the code `model_exists` if one with
        such a name is loaded already."""
        require_path(spec.model, "model")
        require_path(spec.model_lib, "model_lib")
        slot = Slot(spec.named(), given=True, phase="loading")
        with self._slots.changed:
            self._require_free(slot.spec.names)
            self._slots.by_name[slot.name] = slot
        try:
            return self._load(slot, self._listener, report)
        except BaseException as error:
            self._fail(slot, error, forget=True)
            raise

    def load_for_embeddings(self, spec: ModelSpec, report: Report | None = None) -> ServedModel:
        """Loads the model for embedding requests that name no model."""
        served = self.load(spec, report)
        self._embedder = served.name
        return served

    def unload(self, name: str) -> None:
        """Ends the model's requests and its load, and frees its memory. A model that only the
        command line or /admin/load named is then unknown."""
        slot = self._at_hand(name)
        if slot is None:
            if self._catalogue is None or self._catalogue.find(name) is None:
                raise self.unknown(name)
            return
        slot.loading.cancel()
        with self._slots.changed:
            served, slot.served = slot.served, None
            if slot.phase == "loaded":
                slot.phase = "leaving"
            if slot.given:  # also while it is loaded: `_arrive` then drops it
                self._slots.by_name.pop(slot.name, None)
        if served is not None:
            served.engine.close()
            self._left(slot)

    def close(self) -> None:
        """Unloads all models. Loads end with an error."""
        with self._slots.changed:
            self._slots.closing = True
            slots = list(self._slots.by_name.values())
            self._slots.by_name.clear()
            self._slots.changed.notify_all()
        for slot in slots:
            slot.loading.cancel()
            if slot.served is not None:
                slot.served.engine.close()

    def wait_for_loads(self, seconds: float) -> bool:
        """Whether no load runs any more, at the latest after `seconds`."""
        with self._slots.changed:
            return self._slots.changed.wait_for(lambda: self._num_loads == 0, seconds)

    # Names

    def _at_hand(self, name: str | None) -> Slot | None:
        """The model with that name, if somebody has asked for it."""
        if not name:
            return None
        slots = self._slots.all()
        exact = (slot for slot in slots if name in slot.spec.names)
        other = (slot for slot in slots if slot.spec.answers_to(name))
        return next(exact, None) or next(other, None)

    def _slot(self, name: str | None) -> Slot:
        given = [slot for slot in self._slots.all() if slot.given]
        slot = self._at_hand(name) if name else next(iter(given), None)
        if slot is not None and (slot.phase != "loading" or self.loading.ended):
            return slot
        spec = None if slot or self._catalogue is None else self._catalogue.find(name)
        if spec is not None:
            with self._slots.changed:
                return self._slots.by_name.setdefault(spec.names[0], Slot(spec))
        if not self.loading.ended:
            raise self.loading.refusal()
        others = [one for one in given if one.name != self._embedder] or given
        if name and self._any_name and self._catalogue is None and len(others) == 1:
            return others[0]
        raise self.unknown(name)

    def _require_free(self, names: tuple[str, ...]) -> None:
        """Refuses names that a model in memory has. Call it with the lock."""
        there = (slot for slot in self._slots.by_name.values() if slot.phase != "unloaded")
        taken = {name for slot in there for name in slot.spec.names}
        if twice := next((name for name in names if name in taken), None):
            raise error_of(
                reasons.MODEL_EXISTS,
                f"a model with the name '{twice}' is loaded already",
                param="model",
            )

    def unknown(self, name: str | None) -> MLCError:
        if not name:
            return error_of(reasons.MODEL_NOT_LOADED, "no model is loaded", param="model")
        there = [one for slot in self._slots.all() for one in slot.spec.names]
        if self._catalogue is None:
            hint = "there is: " + (", ".join(there) or "none")
        elif near := self._catalogue.near(name, there):
            hint = "near names: " + ", ".join(near)
        else:
            hint = "GET /v1/models lists all"
        return error_of(
            reasons.MODEL_NOT_FOUND, f"The model '{name}' does not exist; {hint}", param="model"
        )

    # Adapters

    def loaded(self, name: str | None) -> Slot:
        """A model that is in memory."""
        slot = self._slot(name)
        if slot.served is None:
            raise error_of(reasons.MODEL_NOT_LOADED, f"{slot.name} is not loaded", param="model")
        return slot

    def set_adapters(self, slot: Slot, adapters: Mapping[str, str]) -> None:
        """Those by whose names it is known."""
        with self._slots.changed:
            slot.spec = replace(slot.spec, adapters=adapters)

    # Leases

    def _hold(self, slot: Slot) -> Lease:
        lease = Lease(slot, self._release)
        with self._slots.changed:
            if self._slots.closing:
                raise stopping()
            if slot.phase == "loaded":
                assert slot.served is not None
                slot.asleep = False
                _count(slot, [lease])
                lease.future.set_result(slot.served)
                return lease
            if slot.failure is not None and slot.failure.holds:
                raise slot.failure.error()
            slot.waiting.append(lease)
            if slot.phase == "unloaded":
                self._start(slot)
        return lease

    def _release(self, lease: Lease) -> None:
        slot = lease.slot
        with self._slots.changed:
            if lease in slot.waiting:
                slot.waiting.remove(lease)
            if lease.counted:
                lease.counted = False
                slot.users -= 1
                slot.last_use = time.monotonic()
            if lease.keep_alive is not None:
                slot.idle_timeout = lease.keep_alive if lease.keep_alive >= 0 else None
                self._idle.begin()
            if slot.phase == "leaving" or lease.keep_alive is not None:
                self._slots.changed.notify_all()

    # Loads

    def _start(self, slot: Slot) -> None:
        """Loads a model on a thread of its own. Call it with the lock."""
        steps = LoadingSteps(steps_of(self._listener))

        def load(report: Report) -> None:
            self._load(slot, steps, report)

        def run() -> None:
            try:
                slot.loading.run()
                if not slot.loading.ended:  # it was cancelled before it began
                    self._fail(slot, _unloaded(slot))
            except BaseException as error:
                self._fail(slot, error)
            finally:
                with self._slots.changed:
                    self._num_loads -= 1
                    self._slots.changed.notify_all()

        slot.phase, slot.loading = "loading", Loading([(slot.name, load)], steps)
        self._num_loads += 1
        threading.Thread(target=run, name=f"load {slot.name}", daemon=True).start()

    def _load(self, slot: Slot, listener: StepListener, report: Report | None) -> ServedModel:
        spec, began = slot.spec, time.monotonic()
        with ExitStack() as room, ExitStack() as making:
            making.enter_context(self._making)
            plan: dict[str, Any] = {}

            def admit(make_plan: MakePlan) -> None:
                making.close()
                plan.update(room.enter_context(self._room.for_model(slot, make_plan)))

            engine = CoreEngine(
                spec.model,
                model_lib=spec.model_lib,
                device=spec.device,
                mode=spec.mode,
                quantization=spec.quantization,
                engine_config=spec.engine_config,
                log=listener,
                name=spec.names[0],
                progress=report,
                admit=admit,
            )
            load_all(engine, spec.adapters)
            served = ServedModel(spec.names, spec.argument, engine, slot.created, plan)
            leases = self._arrive(slot, served)
        _log.info("%s: %s", slot.name, plan["summary"][-1])
        _log.debug("Loaded %s in %.0f ms", slot.name, (time.monotonic() - began) * 1e3)
        for lease in leases:
            lease.future.set_result(served)
        return served

    def _arrive(self, slot: Slot, served: ServedModel) -> list[Lease]:
        """A model is loaded. Returns the leases that waited for it; they hold it now."""
        with self._slots.changed:
            if not self._slots.closing and self._slots.by_name.get(slot.name) is slot:
                leases, slot.waiting = slot.waiting, []
                slot.phase, slot.served, slot.failure = "loaded", served, None
                slot.last_use = time.monotonic()
                _count(slot, leases)
                self._idle.begin()
                return leases
        served.engine.close()
        raise stopping() if self._slots.closing else _unloaded(slot)

    def _fail(self, slot: Slot, error: BaseException, *, forget: bool = False) -> None:
        """Tells those who wait."""
        if not isinstance(error, MLCError):
            _log.error("Loading %s failed", slot.name, exc_info=error)
            error = InternalError("the server made a mistake; its log says more")
        with self._slots.changed:
            leases, slot.waiting = slot.waiting, []
            slot.phase = "unloaded"
            if forget and self._slots.by_name.get(slot.name) is slot:
                del self._slots.by_name[slot.name]
            failure = Failure(error, slot.failure)
            slot.failure = None if slot.loading.cancelled else failure
        for lease in leases:
            lease.future.set_exception(failure.error())

    def _evict(self, slot: Slot) -> None:
        """Waits for the last request of a model that is leaving, and frees its memory."""
        with self._slots.changed:
            self._slots.changed.wait_for(lambda: slot.users == 0 or self._slots.closing)
            served, slot.served = slot.served, None
            if served is None:  # /admin/unload was faster: it says when the model has left
                self._slots.changed.wait_for(lambda: slot.phase != "leaving" or self._slots.closing)
                return
        served.engine.close()
        _log.info("Unloaded %s", slot.name)
        self._left(slot)

    def _left(self, slot: Slot) -> None:
        """A model has left. Those who asked for it meanwhile want it again."""
        with self._slots.changed:
            slot.phase, slot.asleep = "unloaded", False
            slot.idle_timeout = slot.spec.idle_timeout
            is_known = self._slots.by_name.get(slot.name) is slot
            if slot.waiting and is_known:
                self._start(slot)
            self._slots.changed.notify_all()
        if not is_known:
            self._fail(slot, stopping() if self._slots.closing else _unloaded(slot))


def _unloaded(slot: Slot) -> MLCError:
    return error_of(
        reasons.MODEL_UNLOADED, f"the model '{slot.name}' was unloaded before the request ended"
    )


def _count(slot: Slot, leases: list[Lease]) -> None:
    """These leases use the model from now on. Call it with the lock."""
    slot.users += len(leases)
    for lease in leases:
        lease.counted = True
