"""Engines on GPUs over families with layers of their own, judged by NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny_models
from engine_ways import ask
from fixture_models import FixtureModel, check_on_a_gpu
from gpu_engines import COMMON, leave_samplers_out, require, require_half
from test_experts_engine import compiled
from test_gpu_recurrent import KINDS as RECURRENT

from mlc_llm import MLCEngine

HALF = ("inputs of layers", "experts beside an MLP", "chunks", "RWKV 6", "RWKV 7")
KINDS = {
    "inputs of layers": FixtureModel(
        "gemma4_text",
        num_hidden_layers=4,
        layer_types=["sliding_attention", "full_attention"] * 2,
        vocab_size_per_layer_input=len(tiny_models.tokens()),
    ),
    "experts beside an MLP": FixtureModel(
        "gemma4_experts",
        num_hidden_layers=2,
        layer_types=["sliding_attention", "full_attention"],
    ),
    "chunks": FixtureModel("llama4_text", num_hidden_layers=4),
    "sparsemixer": FixtureModel("phimoe", num_hidden_layers=2),
    "distances": FixtureModel("baichuan2_13b", num_hidden_layers=2),
    "experts without a gate": FixtureModel(
        "nemotron_h_experts", num_hidden_layers=3, hybrid_override_pattern="ME*"
    ),
    "xIELU": FixtureModel("apertus", num_hidden_layers=2),
    "latents": FixtureModel("deepseek_v3", num_hidden_layers=2, first_k_dense_replace=2),
    "latents, scaled": FixtureModel("minicpm3", num_hidden_layers=2),
}


@pytest.mark.parametrize("device", COMMON)
@pytest.mark.parametrize("kind", KINDS)
def test_a_gpu_gives_numpys_greedy_answers(
    kind: str,
    device: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("libraries for GPUs are compiled with --long")
    check_on_a_gpu(KINDS[kind], device, tmp_path, monkeypatch)


@pytest.mark.parametrize("kind", HALF)
def test_rows_of_16_bits_are_near_the_cpus(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The answers, of greedy tokens; the CPU computes with 32 bits."""
    if not request.config.getoption("--long"):
        pytest.skip("libraries for GPUs are compiled with --long")
    require("vulkan")
    require_half("vulkan")
    leave_samplers_out(monkeypatch)
    folder, found = (KINDS | RECURRENT)[kind].written(tmp_path, "q0f16"), []
    for device in ("cpu", "vulkan"):
        library = str(compiled(folder, device))
        with MLCEngine(str(folder), model_lib=library, device=device) as engine:
            found.append(ask(engine))
    np.testing.assert_allclose(found[1], found[0], atol=0.04)
