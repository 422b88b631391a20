"""The common part of MLCEngine and AsyncMLCEngine."""

from __future__ import annotations

from pathlib import Path

from mlc_llm.prepare.model_source import StepListener
from mlc_llm.sdk.core_engine import CoreEngine
from mlc_llm.sdk.draft_model import EngineSettings


class EngineBase:
    """The common part of MLCEngine and AsyncMLCEngine: how they start and end."""

    def __init__(
        self,
        model: str | Path | None = None,
        device: str = "auto",
        *,
        model_lib: str | Path | None = None,
        mode: str | None = None,
        quantization: str | None = None,
        engine_config: EngineSettings | None = None,
        enable_tracing: bool = False,
        log: StepListener = None,
    ) -> None:
        self._core = CoreEngine(
            model,
            model_lib=model_lib,
            device=device,
            mode=mode,
            quantization=quantization,
            engine_config=engine_config,
            enable_tracing=enable_tracing,
            log=log,
        )

    @property
    def model(self) -> str:
        """The model's name."""
        return self._core.model.name

    def __repr__(self) -> str:
        model = self._core.model
        quantization = f", quantization={model.quantization!r}" if model.quantization else ""
        return f"{type(self).__name__}({model.name!r}{quantization}, device={self._core.device!r})"

    def pause(self) -> None:
        """Starts no step until `resume()`; the step that runs ends. Requests wait."""
        self._core.set_paused(True)

    def resume(self) -> None:
        """Lets a paused engine continue, with the same tokens."""
        self._core.set_paused(False)

    def terminate(self) -> None:
        """Ends every request and frees the model."""
        self._core.close()
