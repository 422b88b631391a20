"""Weights that are too large for a device's kernels come in parts, by outputs: rows of what is
stored, or columns where a scheme stores matrices (in, out)."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from gpu_engines import (
    PROMPTS,
    LibraryOf,
    compiled,
    leave_samplers_out,
    opened,
    require,
    require_half,
    text,
)

from mlc_llm.compiler import targets
from mlc_llm.compiler.compile import library_spec, read_chat_config
from mlc_llm.prepare.model_source import ResolvedModel, resolve_folder

LARGEST = 2000  # bytes; the small model's matrices have up to 12,800


@pytest.mark.parametrize(
    ("device", "quantization"),
    [("opencl", "q4f32_1"), ("vulkan", "q4f16_0")],
)
def test_answers_are_those_of_the_cpu(
    device: str,
    quantization: str,
    tiny_hf_folder: Path,
    library_of: LibraryOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    require(device)
    if "f16" in quantization:
        require_half(device)
    leave_samplers_out(monkeypatch)
    small = replace(targets.GPUS[device], largest_weight=LARGEST)
    monkeypatch.setitem(targets.GPUS, device, small)
    folder = resolve_folder(tiny_hf_folder, quantization=quantization, progress=lambda _: None)
    engines = [opened(compiled(folder, library_of, device=name), name) for name in (device, "cpu")]
    for prompt in PROMPTS:
        assert text(engines[0], prompt) == text(engines[1], prompt)
    for engine in engines:
        engine.terminate()


@pytest.mark.parametrize(("quantization", "axis"), [("q4f32_1", "rows"), ("q4f16_0", "columns")])
def test_no_parameter_is_larger_than_the_device_takes(
    quantization: str, axis: str, tiny_model: ResolvedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlc_llm.compiler import models
    from mlc_llm.compiler.library import metadata
    from mlc_llm.compiler.nn import Builder

    config = read_chat_config(tiny_model.folder)

    def params(largest: int) -> list[dict]:
        monkeypatch.setitem(
            targets.GPUS, "vulkan", replace(targets.GPUS["vulkan"], largest_weight=largest)
        )
        spec = library_spec(config, quantization=quantization, device="vulkan")
        family = models.get(spec.model_type)
        nn = Builder(spec.scheme, spec.device, family.weight_map(spec.config))
        return json.loads(json.dumps(metadata(spec, nn, {})))["params"]

    def elements(found: list[dict]) -> dict[str, int]:
        sums: dict[str, int] = {}
        for param in found:
            sums[param["name"]] = sums.get(param["name"], 0) + math.prod(param["shape"])
        return sums

    whole, cut = params(0), params(LARGEST)
    assert elements(whole) == elements(cut) and len(cut) > len(whole)
    assert all("rows" not in param and "columns" not in param for param in whole)
    assert any(axis in param for param in cut if "lm_head" in param["name"])
    assert all("rows" in param for param in cut if "embed_tokens" in param["name"])
    for param in cut:
        assert 4 * math.prod(param["shape"]) <= LARGEST
