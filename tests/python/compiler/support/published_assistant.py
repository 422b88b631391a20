"""Folders of Gemma 4's assistant as they are published, with drawn weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from medusa_files import write_tensors

from mlc_llm.compiler.convert.assistant import assistant_of
from mlc_llm.compiler.drafts.assistant import FILES
from mlc_llm.compiler.random_weights import draw
from mlc_llm.compiler.spec import DecoderSpec

RECORDED = Path(__file__).parents[3] / "fixtures/drafts/assistant.json"
ORDERING = "masked_embedding.token_ordering"
Array = np.ndarray[Any, Any]


def recorded() -> dict[str, Any]:
    """What two references compute (`fixtures/drafts/make_assistant.py`)."""
    found: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def weights(config: Mapping[str, Any], target: DecoderSpec, seed: int) -> dict[str, Array]:
    """By the names of the files. A permutation puts the tokens into clusters."""
    rows = config["text_config"]["vocab_size"]
    order = np.random.RandomState(seed).permutation(rows).astype(np.int64)
    spec = assistant_of(Path("assistant"), config, [int(token) for token in order])
    shapes = {
        part.tensor.removeprefix(FILES): part.source_shape
        for parameter in spec.parameters(spec.named(target))
        for part in spec.files.parts(parameter)
    }
    found = draw(shapes, seed, 1)
    return {**found, ORDERING: order} if config["use_ordered_embeddings"] else found


def write(folder: Path, tensors: Mapping[str, Array], config: Mapping[str, Any]) -> Path:
    write_tensors(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(json.dumps(config))
    return folder
