"""Fixtures of `tests/fixtures/families` with an MTP layer, whose tensors are drawn too."""

from __future__ import annotations

from functools import cache
from typing import Any

import family_fixtures

from mlc_llm.compiler.random_weights import draw

FIELDS = {
    "deepseek_v3": "num_nextn_predict_layers",
    "glm4_moe": "num_nextn_predict_layers",
    "qwen3_5": "mtp_num_hidden_layers",
    "qwen3_5_moe": "mtp_num_hidden_layers",
    "qwen3_next": "mtp_num_hidden_layers",
}


class Fixture(family_fixtures.Fixture):
    @property
    def mtp_tensors(self) -> dict[str, tuple[int, ...]]:
        """Those of the MTP layer alone, by the names of Hugging Face's files."""
        weights = self.family.weight_map(self.typed)
        return {p.tensor: p.source_shape for w in weights if w.draft for p in w.parts}


@cache
def load(name: str, **changes: Any) -> Fixture:
    plain = family_fixtures.load(name)
    config = {**plain.config, **changes, FIELDS[name]: 1}
    found = Fixture(config, plain.ids, plain.greedy, plain.logits, plain.drawn)
    _, seed, norm_mean = plain.drawn
    found.weights = {**plain.weights, **draw(found.mtp_tensors, seed, norm_mean)}
    return found
