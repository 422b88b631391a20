"""Engines on GPUs over recurrent layers: each kind of mixer beside attention, judged by NumPy."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixture_models import FixtureModel, check_on_a_gpu
from gpu_engines import COMMON

KINDS = {
    "short convolution": FixtureModel("lfm2"),
    "delta rule": FixtureModel("qwen3_5", 0, num_hidden_layers=2,
                               layer_types=["linear_attention", "full_attention"]),
    "state space": FixtureModel("granitemoehybrid_dense", num_hidden_layers=2,
                                layer_types=["mamba", "attention"]),
    "state space alone": FixtureModel("mamba2", num_hidden_layers=2),
    "Mamba 1": FixtureModel("jamba_dense", num_hidden_layers=2),
    "side by side": FixtureModel("falcon_h1", num_hidden_layers=2),
    "delta rule by channel": FixtureModel("kimi_linear", num_hidden_layers=2, linear_attn_config={
        "full_attn_layers": [2], "kda_layers": [1], "head_dim": 16, "num_heads": 4,
        "short_conv_kernel_size": 4,
    }),
    "RWKV 5": FixtureModel("rwkv5", num_hidden_layers=2),
    "RWKV 6": FixtureModel("rwkv6", num_hidden_layers=2),
    "RWKV 7": FixtureModel("rwkv7", num_hidden_layers=2),
}  # fmt: skip


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
