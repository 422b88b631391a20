"""The models that a server answers for: names, engines, loading and unloading."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlc_llm.core_engine import CoreEngine
from mlc_llm.serve.errors import RequestError

Log = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """A model as the command line or the admin route names it."""

    model: str | None  # None: the embedded default model
    model_lib: str | None = None
    device: str = "auto"
    mode: str = "local"
    quantization: str | None = None
    engine_config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ServedModel:
    """A loaded model. It answers to its name and to the argument it was loaded by."""

    name: str
    argument: str
    engine: CoreEngine
    created: int

    def describe(self) -> dict[str, Any]:
        """OpenAI's model object."""
        return {"id": self.name, "object": "model", "created": self.created, "owned_by": "mlc_llm"}


class ModelRegistry:
    """Loaded models in the order of their loading; the first one is the default. Thread-safe."""

    def __init__(self, log: Log | None = None) -> None:
        self._models: dict[str, ServedModel] = {}
        self._embedder: str | None = None
        self._lock = threading.Lock()
        self._log = log

    def load(self, spec: ModelSpec) -> ServedModel:
        """Loads a model; raises MLCError, with code `model_exists` for one that is there."""
        engine = CoreEngine(
            spec.model,
            model_lib=spec.model_lib,
            device=spec.device,
            mode=spec.mode,
            quantization=spec.quantization,
            engine_config=spec.engine_config,
            log=self._log,
        )
        name = engine.model.name
        served = ServedModel(name, str(spec.model or name), engine, int(time.time()))
        with self._lock:
            if name not in self._models:
                self._models[name] = served
                return served
        engine.close()
        raise RequestError(
            f"a model with the name '{name}' is loaded already", code="model_exists", param="model"
        )

    def load_for_embeddings(self, spec: ModelSpec) -> ServedModel:
        """Loads the model that makes embeddings when a request names none."""
        served = self.load(spec)
        self._embedder = served.name
        return served

    def find_for_embeddings(self, name: str | None) -> ServedModel:
        with self._lock:
            known = self._embedder in self._models
        return self.find(name or (self._embedder if known else None))

    def unload(self, name: str) -> None:
        """Ends the model's requests and frees its memory."""
        model = self.find(name)
        with self._lock:
            self._models.pop(model.name, None)
        model.engine.close()

    def find(self, name: str | None) -> ServedModel:
        """The model of that name; None or "" means the first one."""
        with self._lock:
            models = list(self._models.values())
        for model in models:
            if not name or name in (model.name, model.argument):
                return model
        there = ", ".join(model.name for model in models) or "none"
        raise RequestError(
            f"The model '{name}' does not exist; there is: {there}"
            if name
            else "no model is loaded",
            code="model_not_found" if name else "model_not_loaded",
            param="model",
        )

    def all(self) -> list[ServedModel]:
        with self._lock:
            return list(self._models.values())

    def close(self) -> None:
        """Unloads everything."""
        with self._lock:
            models = list(self._models.values())
            self._models.clear()
        for model in models:
            model.engine.close()
