"""GPT-BigCode (SantaCoder, StarCoder 1): GPT-2 in which all query heads share one key and value.

transformers' `models/gpt_bigcode/modeling_gpt_bigcode.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_llm.compiler.models import gpt2
from mlc_llm.compiler.models.config import ConfigReader
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.models.gpt2 import GPT2Config
from mlc_llm.compiler.spec import GGUF, Source, TensorMap


@dataclass(frozen=True, kw_only=True)
class GPTBigCodeConfig(GPT2Config):
    only = {**GPT2Config.only, "multi_query": True}
    # for transformers' own kernels, and in which precision it computes
    unused = ("attention_softmax_in_fp32", "scale_attention_softmax_in_fp32")

    @classmethod
    def fields(cls, read: ConfigReader) -> dict[str, Any]:
        return {**super().fields(read), "num_key_value_heads": 1}


def _tensors(c: GPTBigCodeConfig) -> TensorMap:
    """Those of GPT-2, not transposed."""
    return gpt2.TENSORS.renamed(**gpt2.TURNED)


FAMILY = ModelFamily(
    config_class=GPTBigCodeConfig,
    decoder=gpt2.decoder,
    tensors=_tensors,
    gguf=GGUFFormat(
        "starcoder",
        "GPTBigCodeForCausalLM",
        lambda fields: {"hidden_act": "gelu_tanh"},
        lambda c: GGUF.changed(qkv=(Source("attn_qkv"),)),
    ),
)
