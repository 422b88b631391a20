"""InternLM 2, 2.5: Llama's block under other names; files store queries, keys and values group by
group.

`modeling_internlm2.py` of its repositories (transformers has no such family).
"""

from __future__ import annotations

from mlc_llm.compiler.models import internlm, llama
from mlc_llm.compiler.models.family import GGUFFormat, ModelFamily
from mlc_llm.compiler.models.internlm import InternLMConfig
from mlc_llm.compiler.spec import HUGGING_FACE, Source, TensorMap
from mlc_llm.compiler.spec.transforms import Grouped

_NAMES = {
    "embedding": "model.tok_embeddings",
    "head": "output",
    "qkv": "attention.wqkv",
    "output": "attention.wo",
    "gate_up": "feed_forward.gate_up_proj",
    "down": "feed_forward.w2",
    "attention_norm": "attention_norm",
    "mlp_norm": "ffn_norm",
}


def _tensors(c: InternLMConfig) -> TensorMap:
    """The file stores, for each key head, its queries, the key and the value."""
    queries = c.num_attention_heads // c.num_key_value_heads * c.head_dim
    sizes = (queries, c.head_dim, c.head_dim)
    fused = [Grouped(c.num_key_value_heads, sizes, i) for i in range(3)]
    table = HUGGING_FACE.named(_NAMES).renamed(gate_up="feed_forward.w1 feed_forward.w3")
    return table.changed(qkv=tuple(Source("attention.wqkv", (part,)) for part in fused))


FAMILY = ModelFamily(
    config_class=InternLMConfig,
    decoder=lambda c: internlm.decoder(c, _NAMES),
    tensors=_tensors,
    gguf=GGUFFormat("internlm2", "InternLM2ForCausalLM", tensors=llama.gguf_tensors),
)
