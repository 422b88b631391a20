"""`plan`: what a model would take in an engine, before it is loaded."""

from __future__ import annotations

import json
from pathlib import Path

from mlc_llm import _core
from mlc_llm.core_engine import Log, choose_device
from mlc_llm.draft_model import EngineSettings, core_config, resolve_draft
from mlc_llm.errors import error_from_core
from mlc_llm.model_source import resolve_model
from mlc_llm.types_gen import Plan


def plan(
    model: str | Path | None = None,
    *,
    model_lib: str | Path | None = None,
    device: str = "auto",
    mode: str = "local",
    quantization: str | None = None,
    engine_config: EngineSettings | None = None,
    log: Log | None = None,
) -> Plan:
    """What `MLCEngine` with the same arguments would allocate, and whether that fits.

    The weights are not read; what the model lacks (its conversion, its library) is made as for an
    engine. A model that does not fit is a plan whose `fits` is False and whose `reason` says why.
    """
    chosen = choose_device(device, log)
    config = core_config(mode, engine_config)
    draft = resolve_draft(config, device=chosen, progress=log)
    resolved = resolve_model(
        model, quantization=quantization, device=chosen, model_lib=model_lib, progress=log
    )
    try:
        handle = _core.Engine(json.dumps(config))
        try:
            paths = json.dumps(resolved.core_json(chosen, draft))
            return Plan.model_validate_json(handle.plan(paths))
        finally:
            handle.close()
    except _core.CoreError as error:
        raise error_from_core(*error.args) from None
