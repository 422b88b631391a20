"""`./dev bench gpu` on a small model: what it counts, and that it runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("tvm")

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import gpu as command  # noqa: E402
from gpu_parts import models  # noqa: E402
from gpu_parts.kernels import Argument, Call, Step  # noqa: E402
from gpu_tools import BACKENDS, require  # noqa: E402

SMALL = {
    **models.MODELS["135M"],
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 300,
}


def test_what_a_step_reads_and_computes() -> None:
    step = Step(batch=4, rows=1, history=20)
    x, y = Argument(("n", 64), "float32"), Argument(("n", 32), "float32")
    linear = Call("linear3", (x, Argument((32, 8), "uint32"), Argument((32, 2), "float32"), y))
    assert linear.traffic(step) == 4 * (4 * 64 + 32 * 8 + 32 * 2 + 4 * 32)
    assert linear.operations(step) == 2 * 4 * 64 * 32 and linear.label == "linear 64 -> 32"
    pages = Argument(("num_pages", 2, 2, 16 * 8), "float32")
    queries = Argument(("n", 4, 8), "float32")
    attention = Call("paged_attention", (queries, pages, Argument(("n", 32), "float32")))
    assert attention.traffic(step) == 4 * (4 * 32 + 4 * 21 * 2 * 2 * 8 + 4 * 32)
    assert attention.operations(step) == 4 * 4 * 21 * 32
    indices = Step(batch=2, rows=3, history=15).indices()
    assert indices["positions"].tolist() == [15, 16, 17] * 2
    assert indices["slots"].tolist() == [15, 16, 17, 47, 48, 49]
    assert indices["logit_rows"].tolist() == [2, 5]


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_runs(
    backend: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    require(backend)
    monkeypatch.setitem(models.MODELS, "small", SMALL)
    output = tmp_path / "gpu.json"
    options = ["--device", backend, "--models", "small", "--batch", "4", "--prefill", "16"]
    options += ["--seconds", "0.002", "--quantization", "q4f32_1"]
    monkeypatch.setattr(sys, "argv", ["gpu", *options, "--json", str(output)])
    command.main()
    result = json.loads(output.read_text())
    printed = capsys.readouterr().out
    assert result["device"]["name"] == f"{backend}:0" and f"{backend}:0" in printed
    assert set(result["models"]["small"]) == {"decode of 4", "prefill of 16"}
    step = result["models"]["small"]["decode of 4"]
    assert step["complete"] and step["copy_share"] > 0 and step["multiply_share"] > 0
    counts = {row["kernel"]: row["count"] for row in step["kernels"]}
    assert counts["paged_attention"] == counts["rope_and_append"] == 1
    assert counts["linear 64 -> 300"] == 1 and "linear 64 -> 300" in printed
