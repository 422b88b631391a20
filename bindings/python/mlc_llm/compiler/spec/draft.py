"""The interface of a part that drafts: it guesses further tokens from a decoder's hidden states.

Each kind is one module of `compiler/drafts`. Its tensors stand behind the decoder's, and the names
of its functions begin with `PREFIX`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from mlc_llm.compiler.spec.weights import Parameter, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.models.family import ModelConfig
    from mlc_llm.compiler.nn.builder import Builder
    from mlc_llm.compiler.spec.decoder import DecoderSpec, LayerSpec
    from mlc_llm.compiler.spec.tensors import TensorMap

PREFIX = "draft_"


class DraftSpec(ABC):
    """Sizes and switches (a frozen dataclass), and what follows from them."""

    kind: ClassVar[str]  # the engine's `speculative_mode`
    tensors: Mapping[str, Tensor] = {}  # outside of its layer
    layer: LayerSpec | None = None  # counts as the one behind the decoder's last one
    files: ClassVar[TensorMap | None] = None  # of its own tensors; None: they are the model's
    chosen_layers: tuple[int, ...] = ()  # of the decoder, after which it reads the residual
    reads_pages: ClassVar[bool] = False  # those of the decoder; it has none itself

    def to_dict(self) -> dict[str, Any]:
        """The field `draft` of an mlc-chat-config.json, if it is no part of the model's files."""
        raise NotImplementedError

    def check(self, config: ModelConfig) -> None:
        """Refuses a model for which it was not trained."""
        raise NotImplementedError

    def named(self, spec: DecoderSpec) -> DecoderSpec:
        """The decoder with the names of this part, which are not those of another family."""
        return spec if self.files is None else replace(spec, names={})

    def with_head_of(self, rows: int) -> DraftSpec:
        """The same with only the first rows of the model's head, if it uses that."""
        return self

    @abstractmethod
    def parameters(self, spec: DecoderSpec) -> Iterator[Parameter]:
        """Its tensors, without those of the layer."""

    @abstractmethod
    def build(self, nn: Builder, spec: DecoderSpec, most_rows: int) -> dict[str, Any]:
        """Builds its functions. `nn` is apart from the decoder's. Returns what its metadata has
        besides."""
