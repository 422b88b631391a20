"""`plan`: the memory that a model would use in an engine, before it is loaded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from mlc_llm import _core
from mlc_llm.prepare.model_source import StepListener, resolve_model
from mlc_llm.sdk.core_engine import call_core, choose_device
from mlc_llm.sdk.draft_model import EngineSettings, ModelChoice, core_config, resolve_draft
from mlc_llm.types_gen import Plan


def plan(
    model: str | Path | None = None,
    *,
    model_lib: str | Path | None = None,
    device: str = "auto",
    mode: str = "local",
    quantization: str | None = None,
    engine_config: EngineSettings | None = None,
    log: StepListener = None,
) -> Plan:
    """The memory that `MLCEngine` with the same arguments would allocate, and whether it fits.

    The weights are not read. A missing conversion or library is made, as for an engine. If the
    model does not fit, the plan's `fits` is False and its `reason` says why.
    """
    plans = plan_modes(
        [mode],
        model,
        model_lib=model_lib,
        device=device,
        quantization=quantization,
        engine_config=engine_config,
        log=log,
    )
    return plans[0]


def plan_modes(
    modes: Sequence[str],
    model: str | Path | None,
    *,
    model_lib: str | Path | None,
    device: str,
    quantization: str | None,
    engine_config: EngineSettings | None,
    log: StepListener,
) -> list[Plan]:
    """The plan of each mode. The model is resolved only once."""
    chosen = choose_device(device, log)
    configs = [core_config(mode, engine_config) for mode in modes]
    # a mode does not change the draft model
    draft = resolve_draft(configs[0], device=chosen, progress=log)
    resolved = resolve_model(
        model,
        quantization=quantization,
        device=chosen,
        model_lib=model_lib,
        **ModelChoice(model, model_lib).library_settings(configs[0]),
        progress=log,
    )
    paths = json.dumps(resolved.core_json(chosen, draft))

    def plan_with(config: dict[str, object]) -> Plan:
        handle = call_core(_core.Engine, ModelChoice.for_the_core(config))
        try:
            return Plan.model_validate_json(call_core(handle.plan, paths))
        finally:
            handle.close()

    return [plan_with(config) for config in configs]
