"""GLM-4.7-Flash: DeepSeek V3's layers with other sizes. llama.cpp writes it as deepseek2.

transformers' `models/glm4_moe_lite/modeling_glm4_moe_lite.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models import deepseek
from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.config_reader import unsupported
from mlc_llm.compiler.models.declared import integer, number
from mlc_llm.compiler.models.deepseek import DeepseekV3Config
from mlc_llm.compiler.models.family import ModelFamily

DENSE, SPARSE = "dense", "sparse"  # Hugging Face's `mlp_layer_types`


@dataclass(frozen=True, kw_only=True)
class Glm4MoeLiteConfig(DeepseekV3Config):
    first_k_dense_replace: int = integer(default=1, minimum=0)
    n_group: int = integer(default=1)
    topk_group: int = integer(default=1)
    routed_scaling_factor: float = number(default=1.8)
    default_eps = 1e-5

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        found = super().fields(read)
        count = found["num_hidden_layers"]
        kinds = read.words("mlp_layer_types", count, (DENSE, SPARSE))
        if kinds is None:
            return found
        dense = kinds.count(DENSE)
        if DENSE in kinds[dense:]:
            raise unsupported(
                "mlp_layer_types", "with dense layers behind sparse ones is not supported"
            )
        return {**found, "first_k_dense_replace": dense}


FAMILY = ModelFamily(
    config_class=Glm4MoeLiteConfig, decoder=deepseek.decoder, tensors=deepseek.tensors
)
