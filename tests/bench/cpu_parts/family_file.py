"""Small random models of the fixtures of families (`tests/fixtures/families`) as GGUF files, with a
long context: for what a program does with each kind of layer, not for its speed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from cpu_parts.environment import ROOT
from cpu_parts.shapes import add_tokenizer
from mlc_llm.compiler import models
from mlc_llm.compiler.random_weights import draw

_FOLDER = ROOT / "tests" / "fixtures" / "families"
# What differs from the fixture: these fields of all of them, a window of some size, and heads of a
# state as wide as the inner rows. llama.cpp takes each sixth layer of a Gemma 3 for one without a
# window.
_SIZES = {"hidden_size": 256, "intermediate_size": 512, "vocab_size": 512}
_CHANGES: dict[str, dict[str, Any]] = {
    "gemma3_text": {"num_hidden_layers": 6, "sliding_window": 512, "sliding_window_pattern": 6},
    "granitemoehybrid": {"mamba_d_head": 64},
    "lfm2": {"block_dim": 256, "block_ff_dim": 512, "block_auto_adjust_ff_dim": False},
}


def file_of(name: str) -> Path | None:
    """The file, which is kept under build/; None if no fixture has this name."""
    fixture = _FOLDER / f"{name}.json"
    if not fixture.is_file():
        return None
    path = ROOT / "build" / "shapes" / f"{name}.gguf"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, json.loads(fixture.read_text()), _CHANGES.get(name, {}))
    return path


def _write(path: Path, fixture: dict[str, Any], changes: dict[str, Any]) -> None:
    sys.path.insert(0, str(_FOLDER))
    import gguf_file

    config = {**fixture["config"], **_SIZES, "max_position_embeddings": 32768, **changes}
    sources = models.get(config["model_type"]).weight_map(models.config_from_hf(config))
    sizes = {part.tensor: part.source_shape for weight in sources for part in weight.parts}
    weights = draw(sizes, seed=fixture["seed"], norm_mean=fixture["norm_mean"])
    partial = path.with_suffix(".partial")
    gguf_file.write(
        partial, config, weights, add_tokenizer=lambda w: add_tokenizer(w, config["vocab_size"])
    )
    partial.rename(path)
