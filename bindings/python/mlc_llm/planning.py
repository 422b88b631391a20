"""`plan`: what a model would take in an engine, before it is loaded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from mlc_llm import _core
from mlc_llm.core_engine import call_core, choose_device
from mlc_llm.draft_model import EngineSettings, core_config, resolve_draft
from mlc_llm.model_source import Told, resolve_model
from mlc_llm.types_gen import Plan


def plan(
    model: str | Path | None = None,
    *,
    model_lib: str | Path | None = None,
    device: str = "auto",
    mode: str = "local",
    quantization: str | None = None,
    engine_config: EngineSettings | None = None,
    log: Told = None,
) -> Plan:
    """What `MLCEngine` with the same arguments would allocate, and whether that fits.

    The weights are not read; what the model lacks (its conversion, its library) is made as for an
    engine. A model that does not fit is a plan whose `fits` is False and whose `reason` says why.
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
    log: Told,
) -> list[Plan]:
    """The plan of each mode; the model is looked for once."""
    chosen = choose_device(device, log)
    configs = [core_config(mode, engine_config) for mode in modes]
    draft = resolve_draft(configs[0], device=chosen, progress=log)  # a mode says nothing of drafts
    resolved = resolve_model(
        model, quantization=quantization, device=chosen, model_lib=model_lib, progress=log
    )
    paths = json.dumps(resolved.core_json(chosen, draft))

    def plan_with(config: dict[str, object]) -> Plan:
        handle = call_core(_core.Engine, json.dumps(config))
        try:
            return Plan.model_validate_json(call_core(handle.plan, paths))
        finally:
            handle.close()

    return [plan_with(config) for config in configs]
