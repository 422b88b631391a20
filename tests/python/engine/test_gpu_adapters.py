"""Adapters that requests choose, on what stands in for GPUs, against the CPU."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gpu_engines
import numpy as np
import pytest
from engine_ways import PROMPT
from test_chosen_adapters import ADAPTERS, USES, WEIGHTS, ask, model_of
from tiny_adapters import write_peft

from mlc_llm import MLCEngine
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.errors import NotFoundError

JOBS = [(lora, PROMPT) for lora in (None, *USES)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model and two adapters."""
    folder = tmp_path_factory.mktemp("gpu_adapters")
    for name, adapter in ADAPTERS.items():
        write_peft(folder / name, adapter)
    return folder


def opened(folder: Path, library: Path, device: str) -> MLCEngine:
    config = {"lora_ranks": 32, "prefix_cache_mode": "disable"}
    return MLCEngine(folder / "mlc", model_lib=str(library), device=device, engine_config=config)


@pytest.fixture(scope="module")
def wanted(folder: Path) -> list[Any]:
    with opened(folder, model_of(WEIGHTS, folder)[1], "cpu") as engine:
        for name in ADAPTERS:
            engine.load_adapter(name, folder / name)
        return [ask(engine, *job) for job in JOBS]


@pytest.mark.parametrize("device", gpu_engines.ALIKE[:2])
def test_rows_of_several_adapters_are_as_on_the_cpu(device, folder, wanted, monkeypatch):
    gpu_engines.require(device)
    gpu_engines.leave_samplers_out(monkeypatch)
    library = folder / f"{device}.so"
    config = read_chat_config(folder / "mlc")
    compile_model(config, output=library, device=device, adapters=True)
    with opened(folder, library, device) as engine:
        plain = ask(engine, *JOBS[0])
        for name in ADAPTERS:
            engine.load_adapter(name, folder / name)
        assert ask(engine, *JOBS[0]) == plain
        alone = [ask(engine, *job) for job in JOBS]
        for ours, theirs in zip(alone, wanted, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-3)
        with ThreadPoolExecutor(len(JOBS)) as pool:
            together = list(pool.map(lambda job: ask(engine, *job), JOBS))
        np.testing.assert_allclose(together, alone, rtol=0, atol=1e-3)
        engine.unload_adapter("one")
        with pytest.raises(NotFoundError, match="no adapter 'one'"):
            ask(engine, "one")
