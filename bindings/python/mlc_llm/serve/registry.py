"""The models of a server: names, engines, loading and unloading."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mlc_llm.errors import error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare.model_source import StepListener
from mlc_llm.sdk.core_engine import CoreEngine
from mlc_llm.sdk.model_names import same_model
from mlc_llm.serve.abilities import Abilities, abilities_of
from mlc_llm.serve.loading import Loading, Report
from mlc_llm.serve.model_names import require_path


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """A model in the form of the command line or the admin route."""

    model: str | None  # None: the embedded default model
    model_lib: str | None = None
    device: str = "auto"
    mode: str = "local"
    quantization: str | None = None
    engine_config: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()  # the served names; empty: `model`


@dataclass(frozen=True)
class ServedModel:
    """A loaded model. It answers to its names and to the argument with which it was loaded."""

    names: tuple[str, ...]  # at least one; the first one is in its answers
    argument: str
    engine: CoreEngine
    created: int

    @property
    def name(self) -> str:
        return self.names[0]

    @cached_property
    def abilities(self) -> Abilities:
        """Raises MLCError if the model is being unloaded."""
        return abilities_of(self.engine)

    def answers_to(self, name: str) -> bool:
        return name in self.names or same_model(name, self.argument)

    def describe(self, name: str | None = None) -> dict[str, Any]:
        """OpenAI's model object, with one of its names."""
        fields = {"object": "model", "created": self.created, "owned_by": "mlc_llm"}
        return {"id": name or self.name, **fields}


class ModelRegistry:
    """The loaded models in the order of loading. The first one is the default. Thread-safe.

    With `any_name`, a model answers to every name if it is the only one, not counting the model for
    embeddings.
    """

    def __init__(self, listener: StepListener = None, *, any_name: bool = False) -> None:
        self._models: dict[str, ServedModel] = {}
        self._any_name = any_name
        self.loading = Loading()  # the models of the command line
        self._embedder: str | None = None
        self._lock = threading.Lock()
        self._listener = listener

    def load(self, spec: ModelSpec, report: Report | None = None) -> ServedModel:
        """Loads a model. Raises MLCError with the code `model_exists` if it is loaded already."""
        require_path(spec.model, "model")
        require_path(spec.model_lib, "model_lib")
        engine = CoreEngine(
            spec.model,
            model_lib=spec.model_lib,
            device=spec.device,
            mode=spec.mode,
            quantization=spec.quantization,
            engine_config=spec.engine_config,
            log=self._listener,
            name=spec.names[0] if spec.names else None,
            progress=report,
        )
        names = spec.names or (engine.model.name,)
        served = ServedModel(names, str(spec.model or names[0]), engine, int(time.time()))
        with self._lock:
            taken = {name for model in self._models.values() for name in model.names}
            twice = next((name for name in names if name in taken), None)
            if twice is None:
                self._models[served.name] = served
                return served
        engine.close()
        raise error_of(
            reasons.MODEL_EXISTS,
            f"a model with the name '{twice}' is loaded already",
            param="model",
        )

    def load_for_embeddings(self, spec: ModelSpec, report: Report | None = None) -> ServedModel:
        """Loads the model for embedding requests that name no model."""
        served = self.load(spec, report)
        self._embedder = served.name
        return served

    def find_for_embeddings(self, name: str | None) -> ServedModel:
        models = self.all()
        known = any(model.name == self._embedder for model in models)
        is_taken = name is not None and any(served.answers_to(name) for served in models)
        takes_all = not name or (self._any_name and not is_taken)
        return self.find(self._embedder if known and takes_all else name)

    def unload(self, name: str) -> None:
        """Ends the model's requests and frees its memory."""
        model = self.find(name)
        with self._lock:
            self._models.pop(model.name, None)
        model.engine.close()

    def find(self, name: str | None) -> ServedModel:
        """The model with that name. None or "" means the first one."""
        with self._lock:
            models = list(self._models.values())
        for model in models:
            if not name or model.answers_to(name):
                return model
        if not self.loading.ended:
            raise self.loading.refusal()
        others = [model for model in models if model.name != self._embedder] or models
        if self._any_name and len(others) == 1:
            return others[0]
        there = ", ".join(name for model in models for name in model.names) or "none"
        raise error_of(
            reasons.MODEL_NOT_FOUND if name else reasons.MODEL_NOT_LOADED,
            f"The model '{name}' does not exist; there is: {there}"
            if name
            else "no model is loaded",
            param="model",
        )

    def all(self) -> list[ServedModel]:
        with self._lock:
            return list(self._models.values())

    def chat_models(self) -> list[ServedModel]:
        """All models but the one for embeddings."""
        return [model for model in self.all() if model.name != self._embedder]

    def close(self) -> None:
        """Unloads all models."""
        with self._lock:
            models = list(self._models.values())
            self._models.clear()
        for model in models:
            model.engine.close()
