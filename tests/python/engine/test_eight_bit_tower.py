"""An engine whose tower has weights of 8 bits: from a file to words, beside the one of float16."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import picture_chats
import pytest

from mlc_llm import MLCEngine
from mlc_llm.compiler.convert import convert_model, open_source

sys.path.append(str(Path(__file__).parents[1] / "convert"))

import tiny_pictures  # noqa: E402


def test_answers_depend_on_the_picture_and_are_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLC_LLM_HOME", str(tmp_path / "home"))
    found = {}
    for weights in ("q0f16", "q8f32_1"):
        source = open_source(tiny_pictures.write_hf_folder(tmp_path / weights))
        folder = tmp_path / f"{weights}-MLC"
        convert_model(source, folder, quantization="q4f16_1", tower_quantization=weights)
        with MLCEngine(str(folder), device="cpu") as engine:
            found[weights] = [picture_chats.ask(engine, seed) for seed in picture_chats.SEEDS]
    (first, _), (other, _), (again, _) = found["q8f32_1"]
    assert first == again and first != other
    pairs = zip(*found.values(), strict=True)
    apart = [abs(made[1][0] - whole[1][0]) for made, whole in pairs]
    assert 0 < np.max(apart) < 0.5, "log probabilities of the first tokens"
