"""The interface of a part that drafts: it guesses further tokens from a decoder's hidden states.

Each kind is one module of `compiler/drafts`. Its tensors stand behind the decoder's, and the names
of its functions begin with `PREFIX`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from mlc_llm.compiler.spec.weights import Parameter, Tensor

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder
    from mlc_llm.compiler.spec.decoder import DecoderSpec, LayerSpec

PREFIX = "draft_"


class DraftSpec(ABC):
    """Sizes and switches (a frozen dataclass), and what follows from them."""

    kind: ClassVar[str]  # the engine's `speculative_mode`
    tensors: Mapping[str, Tensor] = {}  # outside of its layer
    layer: LayerSpec | None = None  # counts as the one behind the decoder's last one

    @abstractmethod
    def parameters(self, spec: DecoderSpec) -> Iterator[Parameter]:
        """Its tensors, without those of the layer."""

    @abstractmethod
    def build(self, nn: Builder, spec: DecoderSpec, most_rows: int) -> dict[str, Any]:
        """Builds its functions. `nn` is apart from the decoder's. Returns what its metadata has
        besides."""
