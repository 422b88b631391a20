"""What each layer gets of a token besides the residual (Gemma 4), and a learned factor on a layer's
result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mlc_llm.compiler.spec.decoder import Activation, NormSpec
from mlc_llm.compiler.spec.part import LayerPart, Place, TokenInputs
from mlc_llm.compiler.spec.transforms import Array
from mlc_llm.compiler.spec.weights import Parameter, Source, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder
    from mlc_llm.compiler.reference import Reference


@dataclass(frozen=True, kw_only=True)
class LayerInputSpec(TokenInputs):
    """The vectors of all layers, `width` numbers of each row for each layer: (a table's row for the
    token * sqrt(width) + norm(a linear layer of the embedding)) / sqrt(2)."""

    width: int
    entries: int  # of the table
    norm: NormSpec

    tensors = {
        "input_table": Tensor("model.embed_tokens_per_layer", gguf="per_layer_token_embd"),
        "inputs": Tensor("model.per_layer_model_projection", gguf="per_layer_model_proj"),
        "inputs_norm": Tensor(
            "model.per_layer_projection_norm", gguf="per_layer_proj_norm", norm=True
        ),
    }

    def parameters(self, at: Place) -> Iterator[Parameter]:
        wide = len(at.spec.layers) * self.width
        yield from at.linear("input_table", (self.entries,), wide, use="embedding")
        yield from at.linear("inputs", (wide,), at.hidden)
        yield at.vector("inputs_norm", self.width)

    def build(self, nn: Builder, at: Place) -> Any:
        from mlc_llm.compiler.nn.layer_inputs import LayerInputs

        return LayerInputs(nn, self, at)

    def reference(self, at: Reference, x: Array, ids: list[int]) -> Array:
        shape = (len(ids), len(at.spec.layers), self.width)
        table = at.weight("input_table")[ids].reshape(shape) * self.width**0.5
        made = at.linear("inputs", x).reshape(shape) / at.hidden**0.5
        return np.asarray((at.normed("inputs_norm", made, self.norm) + table) / np.sqrt(2))


@dataclass(frozen=True, kw_only=True)
class LayerInput(LayerPart):
    """x + norm(up(activation(gate(x)) * the layer's vector)). The norm is of the layer's kind."""

    width: int  # of the vector (`LayerInputSpec`)
    activation: Activation = "gelu_tanh"

    tensors = {
        "input_gate": Tensor("per_layer_input_gate", gguf="inp_gate"),
        "input_up": Tensor("per_layer_projection", gguf="proj"),
        "post_input_norm": Tensor("post_per_layer_input_norm", gguf="post_norm", norm=True),
    }

    def parameters(self, at: Place) -> Iterator[Parameter]:
        yield from at.linear("input_gate", (self.width,), at.hidden)
        yield from at.linear("input_up", (at.hidden,), self.width)
        yield at.vector("post_input_norm", at.hidden)

    def build(self, nn: Builder, at: Place) -> Any:
        from mlc_llm.compiler.nn import layer_inputs

        return layer_inputs.LayerInput(nn, self, at)

    def reference(self, at: Reference, x: Array) -> Array:
        assert at.inputs is not None
        gate = at.activated(self.activation, at.linear("input_gate", x))
        made = at.linear("input_up", gate * at.inputs[:, at.index])
        return x + at.normed("post_input_norm", made, at.norm_spec)


@dataclass(frozen=True)
class LayerScale(LayerPart):
    """x times a learned number."""

    tensors = {
        "layer_scale": Tensor(
            "layer_scalar", Source("layer_scalar", is_whole=True), "layer_output_scale"
        )
    }

    def parameters(self, at: Place) -> Iterator[Parameter]:
        yield at.plain("layer_scale", 1)

    def build(self, nn: Builder, at: Place) -> Any:
        from mlc_llm.compiler.nn import layer_inputs

        return layer_inputs.LayerScale(nn, at.name("layer_scale"), at.hidden)

    def reference(self, at: Reference, x: Array) -> Array:
        return x * at.plain_weight("layer_scale")
