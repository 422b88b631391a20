"""Models of the fixtures of families (`tests/fixtures/families`) as folders that an engine loads,
with the vocabulary of `tiny_models`, and NumPy's greedy answers."""

from __future__ import annotations

import json
import sys
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import tiny_models
from engine_ways import MAX_TOKENS, PROMPT, WAYS, ask, prompt_ids
from gpu_engines import leave_samplers_out, require

from mlc_llm import MLCEngine
from mlc_llm.compiler import models, reference
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.compiler.convert import convert_model, open_source

sys.path.insert(0, str(Path(__file__).parents[1] / "compiler" / "support"))

import tiny_families  # noqa: E402
from family_fixtures import load  # noqa: E402
from random_weights import draw  # noqa: E402


class FixtureModel:
    """`changes`: fields of the config that differ from the fixture's."""

    def __init__(self, name: str, norm_mean: int = 1, **changes: Any) -> None:
        words = {"vocab_size": len(tiny_models.tokens())}
        self.config, self.norm_mean = {**load(name).config, **words, **changes}, norm_mean
        self.family = models.get(self.config["model_type"])
        self.typed: Any = models.config_from_hf(self.config)

    @cached_property
    def weights(self) -> dict[str, Any]:
        """By the names of Hugging Face's files."""
        sources = self.family.weight_map(self.typed)
        shapes = {part.tensor: part.source_shape for weight in sources for part in weight.parts}
        return draw(shapes, seed=23, norm_mean=self.norm_mean)

    def written(self, folder: Path, quantization: str = "q0f32", draft: Path | None = None) -> Path:
        """Converts the model."""
        ids = {"eos_token_id": 2, "bos_token_id": 1, "pad_token_id": 0}
        (folder / "config.json").write_text(json.dumps({**self.config, **ids}))
        safetensors.numpy.save_file(self.weights, folder / "model.safetensors")
        (folder / "tokenizer.json").write_bytes(tiny_models.tokenizer_json())
        extras = {"chat_template": tiny_models.TEMPLATE}
        (folder / "tokenizer_config.json").write_text(json.dumps(extras))
        source = open_source(folder)
        convert_model(source, folder / "mlc", quantization=quantization, draft=draft)
        return folder / "mlc"

    def greedy(self, ids: list[int], count: int) -> list[float]:
        """The logprobs of NumPy's greedy answer of `count` tokens."""
        ids, found = list(ids), []
        spec = self.family.decoder(self.typed)
        params = tiny_families.converted(tiny_families.Source(self.weights), self.config)
        for _ in range(count):
            last = reference.logits(spec, params, ids)[-1]
            ids.append(int(last.argmax()))
            found.append(float(-np.log(np.exp(last - last.max()).sum())))
        return found


def check_on_a_gpu(
    model: FixtureModel, device: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine gives NumPy's greedy answers in every way, and again from what it keeps."""
    require(device)
    leave_samplers_out(monkeypatch)
    made, library = model.written(folder), folder / f"{device}.so"
    compile_model(read_chat_config(made), output=library, device=device)
    greedy = model.greedy(prompt_ids(PROMPT), MAX_TOKENS)
    for way in ({}, *WAYS.values()):
        options: Any = {"model_lib": str(library), "device": device, "engine_config": way}
        with MLCEngine(str(made), **options) as engine:
            for _ in range(2):
                np.testing.assert_allclose(ask(engine), [greedy], atol=1e-3)
            np.testing.assert_allclose(ask(engine, n=2), [greedy] * 2, atol=1e-3)
