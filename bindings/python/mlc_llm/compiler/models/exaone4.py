"""EXAONE 4: Llama's block with norms behind both halves alone, and normalized queries and keys.
Models with a window have three layers with it, then one without; that one has no rotary positions.

transformers' `models/exaone4/modeling_exaone4.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.layers import HeadNorms, MLPSpec
from mlc_llm.compiler.models.config import FULL, SLIDING, ConfigReader, DecoderConfig
from mlc_llm.compiler.models.family import GGUFFields, GGUFFormat, ModelFamily
from mlc_llm.compiler.spec import DecoderSpec

_WINDOW = 4096  # of configs that have no field for it


@dataclass(frozen=True, kw_only=True)
class Exaone4Config(DecoderConfig):
    default_eps = 1e-5
    kinds_matter = True  # layers without the window have no rotary positions

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        config = dict(cls.with_window(read, _WINDOW).config)
        is_null = "sliding_window" in config and config["sliding_window"] is None
        if is_null:
            config["layer_types"] = None
        found = super().fields(ConfigReader(config, read.seen))
        has_kinds = config.get("layer_types") or (config.get("sliding_window") or -1) > 0
        # without a window all layers are the same
        return found if has_kinds else {**found, "layer_types": ()}

    @classmethod
    def layer_kinds(cls, read: ConfigReader, layers: int) -> Sequence[str]:
        """The pattern is a number of layers, or a text as "LLLG"."""
        pattern = read.config.get("sliding_window_pattern")
        if isinstance(pattern, str) and pattern and set(pattern) <= {"L", "G"}:
            kinds = [FULL if pattern[i % len(pattern)] == "G" else SLIDING for i in range(layers)]
            return [*kinds[:-1], FULL]
        if pattern == 0:  # as transformers 5 saves a model without a window
            read.seen.add("sliding_window_pattern")
            return [FULL] * layers
        period = read.integer("sliding_window_pattern", default=4)
        return [FULL if (i + 1) % period == 0 or i == layers - 1 else SLIDING
                for i in range(layers)]  # fmt: skip


def decoder(c: Exaone4Config) -> DecoderSpec:
    mlp = MLPSpec(width=c.intermediate_size)
    turned = [not c.layer_types or c.is_sliding(i) for i in range(c.num_hidden_layers)]
    return c.decoder(
        c.layers(
            lambda i: (
                c.attention(i, rope=c.rope if turned[i] else None, head_norms=HeadNorms(c.rms)),
                mlp,
            ),
            places="post",
        )
    )


def _gguf_config(fields: GGUFFields) -> dict[str, Any]:
    if "attention.sliding_window" not in fields:
        return {"sliding_window": None}
    return {"sliding_window_pattern": fields.size("attention.sliding_window_pattern", 4)}


FAMILY = ModelFamily(
    config_class=Exaone4Config,
    decoder=decoder,
    gguf=GGUFFormat("exaone4", "Exaone4ForCausalLM", _gguf_config),
)
