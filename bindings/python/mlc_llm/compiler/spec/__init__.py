"""A model as data: its layers, their parameters, and where files store the parameters.

Model families fill in these descriptions, with parts of layers from `compiler/layers`; `nn` builds
them, and `convert` reads the weights. No module here imports TVM, a family or a kind of layer.
"""

from mlc_llm.compiler.spec.decoder import (
    DecoderSpec,
    DenseSpec,
    HeadSpec,
    LayerSpec,
    NormSpec,
)
from mlc_llm.compiler.spec.draft import DraftSpec
from mlc_llm.compiler.spec.part import LayerPart, Place
from mlc_llm.compiler.spec.rope import RopeScaling, RopeSpec
from mlc_llm.compiler.spec.tensors import GGUF, HUGGING_FACE, TensorMap, parameters, weight_map
from mlc_llm.compiler.spec.weights import Parameter, Part, Source, Tensor, WeightSource

__all__ = [
    "GGUF",
    "HUGGING_FACE",
    "DecoderSpec",
    "DenseSpec",
    "DraftSpec",
    "HeadSpec",
    "LayerPart",
    "LayerSpec",
    "NormSpec",
    "Parameter",
    "Part",
    "Place",
    "RopeScaling",
    "RopeSpec",
    "Source",
    "Tensor",
    "TensorMap",
    "WeightSource",
    "parameters",
    "weight_map",
]
