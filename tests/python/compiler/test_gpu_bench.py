"""`./dev bench gpu` on a small model: what it counts, and that it runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("tvm")

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import gpu as command  # noqa: E402
from gpu_parts import device, engine, models, report  # noqa: E402
from gpu_parts.kernels import Argument, Call, Step  # noqa: E402
from gpu_tools import BACKENDS, require  # noqa: E402


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


def test_a_product_has_what_only_a_library_needs_behind_its_result() -> None:
    step = Step(batch=4, rows=1, history=0)
    x, y = Argument(("n", 64), "float32"), Argument(("n", 32), "float32")
    weights = Argument((32, 8), "uint32"), Argument((32, 2), "float16")
    plain = Call("linear", (x, *weights, y))
    spare = Argument(("n", 64), "float16"), Argument((32, 64), "float16")
    call = Call("linear", (x, *weights, y, *spare), 3)
    assert (call.label, call.result) == ("linear 64 -> 32", y)
    assert call.traffic(step) == plain.traffic(step)
    assert call.operations(step) == plain.operations(step)


def test_the_engine_runs_a_model_of_random_weights(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("takes 15 s: --long")
    monkeypatch.setitem(models.MODELS, "small", {**models.SMALL, "vocab_size": 49152})
    options = {"models": tmp_path, "opt": "O2"}
    steps = engine.decode_step_seconds("cpu:0", "small", "q4f32_1", [1, 2], 16, **options)
    assert set(steps) == {1, 2} and min(steps.values()) > 0
    found = engine.shares({2: 0.5}, {"decode of 2": {"seconds": 0.4}})["2"]
    assert found["tokens_per_s"] == 4 and found["outside_kernels"] == pytest.approx(0.2)


def test_a_summary_has_a_line_a_case() -> None:
    limits = {"copy_bytes_per_s": 100.0, "multiply_per_s": 100.0, "matrix_per_s": 1000.0}
    row = {"kernel": "k", "count": 2, "seconds": 0.5, "bytes": 40, "operations": 50}
    step = report.total([row], limits, 0.02)
    assert (step["launches"], step["host_share"]) == (2, pytest.approx(0.04))
    assert (step["copy_share"], step["matrix_share"]) == (pytest.approx(0.8), pytest.approx(0.1))
    steps = {name: step for name in ("decode of 1", "decode of 64", "prefill of 512")}
    outside = engine.shares({1: 2.0, 64: 1.25}, steps)
    result = {
        "device": {"name": "cuda:0"},
        "quantization": "q4f16_1",
        "limits": limits,
        "models": {"8B": steps},
        "engine": {"8B": outside},
    }
    _, one, many, prompt = report.summary(result).splitlines()
    assert "2 launches, 4.0% of it the CPU's; engine" in one
    assert "2 launches, 4.0% of it the CPU's (goal below 3%)" in many
    assert "launches" not in prompt
    assert "1000.00 ms in kernels, 1 tokens/s" in one and "80% of copy bandwidth (goal 60%)" in one
    assert "engine 1250.00 ms, 51 tokens/s; 20.0% outside kernels (goal below 3%)" in many
    assert "512 tokens/s; 10% of the matrix rate; 100% of multiply-adds" in prompt


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_runs(
    backend: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    require(backend)
    monkeypatch.setitem(models.MODELS, "small", models.SMALL)
    monkeypatch.setattr(device, "_GROUPS", 4)  # what is measured here means nothing
    monkeypatch.setattr(device, "_COPY_BYTES", 1 << 16)
    output = tmp_path / "gpu.json"
    options = ["--device", backend, "--models", "small", "--batch", "4", "--prefill", "16"]
    options += ["--engine", "", "--seconds", "0.002", "--quantization", "q4f32_1"]
    monkeypatch.setattr(sys, "argv", ["gpu", *options, "--json", str(output)])
    command.main()
    result = json.loads(output.read_text())
    printed = capsys.readouterr().out
    assert result["device"]["name"] == f"{backend}:0" and f"{backend}:0" in printed
    assert set(result["models"]["small"]) == {"decode of 4", "prefill of 16"}
    step = result["models"]["small"]["decode of 4"]
    assert step["complete"] and step["copy_share"] > 0 and step["multiply_share"] > 0
    assert step["launches"] > 5 and step["host_share"] > 0
    assert "launches, " in printed and "of it the CPU's" in printed
    counts = {row["kernel"]: row["count"] for row in step["kernels"]}
    assert counts["paged_attention"] == counts["rope_and_append"] == 1
    assert counts["linear 64 -> 300"] == 1 and "linear 64 -> 300" in printed
    assert "small, prefill of 16: " in printed and "no library to show the matrix rate" in printed
