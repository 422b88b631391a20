"""The common part of MLCEngine and AsyncMLCEngine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mlc_llm.prepare.model_source import StepListener
from mlc_llm.sdk.core_engine import CoreEngine, LogitProcessor
from mlc_llm.sdk.draft_model import EngineSettings
from mlc_llm.sdk.paths import absolute
from mlc_llm.types_gen import ChatCompletionMessageParam, ChatCompletionToolParam


def conversation(
    messages: Iterable[ChatCompletionMessageParam],
    *,
    tools: Iterable[ChatCompletionToolParam] | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    path: str | Path | None = None,
) -> dict[str, Any]:
    """The request of a route that reads a conversation but does not answer it."""
    request: dict[str, Any] = {
        "messages": list(messages),
        "tools": None if tools is None else list(tools),
        "chat_template_kwargs": chat_template_kwargs and dict(chat_template_kwargs),
        "path": None if path is None else absolute(path),
    }
    return {name: value for name, value in request.items() if value is not None}


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

    def set_logit_processor(self, name: str, processor: LogitProcessor | None) -> None:
        """Registers a function that changes the logits before each token of the requests that have
        `logit_processor=name`; None removes it.

            def only_digits(prompt: list[int], answer: list[int], logits: memoryview) -> None:
                for token in range(len(logits)):
                    if token not in digits:
                        logits[token] = -math.inf

        `prompt` and `answer` are token ids. `logits` has one float32 for each token of the
        vocabulary; `numpy.asarray(logits)` is an array of the same memory.
        The function runs on the engine's thread, before bias, penalties and the grammar, and all
        requests wait for it. It must not call the engine. If it raises an exception, leaves no
        token, or writes NaN, its request ends with an InvalidRequestError (`code`
        "logit_processor_failed").
        """
        self._core.set_logit_processor(name, processor)

    def terminate(self) -> None:
        """Ends every request and frees the model."""
        self._core.close()
