"""Weights that are too large for a device's kernels come in parts, by rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from gpu_engines import PROMPTS, compiled, leave_samplers_out, opened, require, text

from mlc_llm.compiler import targets
from mlc_llm.compiler.compile import library_spec, read_chat_config
from mlc_llm.model_source import ResolvedModel

LARGEST = 2000  # bytes; the small model's matrices have up to 12,800


@pytest.mark.parametrize("device", ["opencl", "vulkan"])
def test_answers_are_those_of_the_cpu(
    device: str, tiny_model: ResolvedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(device)
    leave_samplers_out(monkeypatch)
    small = replace(targets.GPUS[device], largest_weight=LARGEST)
    monkeypatch.setitem(targets.GPUS, device, small)
    engines = [
        opened(compiled(tiny_model, tmp_path / f"{name}.so", device=name), name)
        for name in (device, "cpu")
    ]
    for prompt in PROMPTS:
        assert text(engines[0], prompt) == text(engines[1], prompt)
    for engine in engines:
        engine.terminate()


def test_no_parameter_is_larger_than_the_device_takes(
    tiny_model: ResolvedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlc_llm.compiler import models
    from mlc_llm.compiler.library import metadata
    from mlc_llm.compiler.nn import Builder

    config = read_chat_config(tiny_model.folder)

    def params(largest: int) -> list[dict]:
        monkeypatch.setitem(
            targets.GPUS, "vulkan", replace(targets.GPUS["vulkan"], largest_weight=largest)
        )
        spec = library_spec(config, device="vulkan")
        family = models.get(spec.model_type)
        nn = Builder(spec.scheme, spec.device, family.weight_map(spec.config))
        return json.loads(json.dumps(metadata(spec, family.build(spec.config, nn), nn)))["params"]

    def rows(found: list[dict]) -> dict[str, int]:
        sums: dict[str, int] = {}
        for param in found:
            sums[param["name"]] = sums.get(param["name"], 0) + param["shape"][0]
        return sums

    whole, cut = params(0), params(LARGEST)
    assert rows(whole) == rows(cut) and len(cut) > len(whole)
    assert all("rows" not in param for param in whole)
    for param in cut:
        words = param["shape"][0] * (param["shape"][1] if len(param["shape"]) > 1 else 1)
        assert 4 * words <= LARGEST
