"""A model as data: what its layers are, which parameters they have, and where files keep these.

Model families describe themselves in these words, `nn` builds them and `convert` reads their
weights. Nothing here imports TVM, a family or a layer.
"""

from mlc_llm.compiler.spec.decoder import (
    AttentionSpec,
    DecoderSpec,
    DeltaRuleSpec,
    LayerSpec,
    MLPSpec,
    NormSpec,
    RecurrentSpec,
    ShortConvSpec,
)
from mlc_llm.compiler.spec.rope import RopeScaling, RopeSpec
from mlc_llm.compiler.spec.tensors import GGUF, HUGGING_FACE, Source, TensorMap, weight_map
from mlc_llm.compiler.spec.weights import Part, WeightSource

__all__ = [
    "GGUF",
    "HUGGING_FACE",
    "AttentionSpec",
    "DecoderSpec",
    "DeltaRuleSpec",
    "LayerSpec",
    "MLPSpec",
    "NormSpec",
    "Part",
    "RecurrentSpec",
    "RopeScaling",
    "RopeSpec",
    "ShortConvSpec",
    "Source",
    "TensorMap",
    "WeightSource",
    "weight_map",
]
