"""`plan` and `mlc_llm doctor`: what a model would take, said before it is loaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlc_llm import MLCEngine, plan
from mlc_llm.errors import InvalidRequestError, MLCError

FAKE = Path(__file__).parents[2] / "fixtures" / "fake-model"


def test_a_plan_counts_what_the_library_and_the_weights_say(default_model) -> None:
    planned = plan(default_model.folder, model_lib=default_model.model_lib, device="cpu")
    index = json.loads((default_model.folder / "tensor-cache.json").read_text())
    records = [record for shard in index["records"] for record in shard["records"]]
    sizes = [(record["name"].endswith("q_scale"), record["nbytes"]) for record in records]
    in_memory = sum(size // 2 if is_scale else size for is_scale, size in sizes)  # float16
    assert planned.fits and planned.reason is None
    assert planned.parameter_bytes == in_memory
    assert planned.kv_bytes_per_token == 30 * 2 * 3 * 64 * 2  # layers, k and v, heads, dim, float16
    assert planned.kv_cache_bytes == planned.max_total_seq_length * planned.kv_bytes_per_token
    assert 0 < planned.temporary_bytes < 200 << 20
    total = planned.parameter_bytes + planned.kv_cache_bytes + planned.temporary_bytes
    assert planned.total_bytes == total
    assert planned.summary[0].startswith('The actual engine mode is "local".')
    assert f"Estimated total memory usage: {total / 2**20:.3f} MB" in planned.summary[1]
    assert planned.summary[2] == f"A chat may have {planned.context_window_size} tokens."
    assert planned.context_limit is None


def test_modes_differ(default_model) -> None:
    by_mode = {
        mode: plan(
            default_model.folder,
            model_lib=default_model.model_lib,
            mode=mode,
            engine_config={"context_window_size": 512},
        )
        for mode in ("local", "interactive", "server")
    }
    sequences = {mode: p.max_num_sequence for mode, p in by_mode.items()}
    assert sequences == {"local": 16, "interactive": 1, "server": 128}
    tokens = {mode: p.max_total_seq_length for mode, p in by_mode.items()}
    assert tokens == {"local": 512, "interactive": 512, "server": 128 * 512}
    assert by_mode["local"].prefill_chunk_size == 512


def test_what_does_not_fit_is_said_and_not_loaded(default_model) -> None:
    limit = {"memory_limit_bytes": 50 << 20}
    options = {"model_lib": default_model.model_lib, "engine_config": limit}
    planned = plan(default_model.folder, **options)
    assert not planned.fits and "KV cache" in planned.reason
    with pytest.raises(MLCError, match="KV cache"):
        MLCEngine(default_model.folder, **options)


def test_a_wrong_setting_is_an_error() -> None:
    with pytest.raises(InvalidRequestError, match="context_window_size"):
        plan(FAKE, device="fake", engine_config={"context_window_size": 1 << 30})


def test_doctor_describes_the_machine(mlc_llm) -> None:
    result = mlc_llm("doctor")
    assert result.returncode == 0
    assert "device cpu:0: found" in result.stdout
    assert "device cuda:0: " in result.stdout


def test_doctor_plans_every_mode(mlc_llm) -> None:
    result = mlc_llm("doctor", str(FAKE), "--device", "fake", "--json")
    report = json.loads(result.stdout)
    assert [p["mode"] for p in report["plans"]] == ["local", "interactive", "server"]
    text = mlc_llm("doctor", str(FAKE), "--device", "fake", "--mode", "server").stdout
    assert 'The actual engine mode is "server"' in text and "It fits." in text


def test_doctor_looks_for_devices_and_model_once(mlc_llm, default_model) -> None:
    result = mlc_llm("doctor", default_model.folder, "--model-lib", default_model.model_lib, "-v")
    assert result.stdout.count("It fits.") == 3
    log = result.stderr.splitlines()
    assert "Using device: cpu:0" in log
    assert len(log) == len(set(log)), log


def test_doctor_fails_when_nothing_fits(mlc_llm, default_model) -> None:
    result = mlc_llm(
        "doctor", str(default_model.folder), "--model-lib", str(default_model.model_lib),
        "--mode", "interactive", "--overrides", "gpu_memory_utilization=0.0001",
    )  # fmt: skip
    assert result.returncode == 1
    assert "does not fit" in result.stderr and "Traceback" not in result.stderr
