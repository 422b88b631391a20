"""The interface of a model family.

A family is one file in this folder; its entry in `models/__init__.py` names its parts. This folder
does not import TVM: the converter uses configurations and weight maps, and needs no compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from mlc_llm.compiler.spec import (
    GGUF,
    HUGGING_FACE,
    DecoderSpec,
    DraftSpec,
    Part,
    TensorMap,
    WeightSource,
    weight_map,
)
from mlc_llm.errors import UnsupportedError

FileFormat = Literal["huggingface", "gguf", "mlc"]  # mlc: MLC-LLM's folder, as floats
PoolingStrategy = Literal["cls", "mean", "last"]


class ModelConfig(Protocol):
    """The part of a configuration that code outside the family's file may read."""

    hidden_size: int
    num_hidden_layers: int
    vocab_size: int
    context_window_size: int
    sliding_window_size: int  # of all layers; -1: at least one layer sees everything
    attention_sink_size: int

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> ModelConfig:
        """Reads a Hugging Face config.json or the `model_config` of an mlc-chat-config.json."""

    def to_dict(self) -> dict[str, Any]:
        """The `model_config` of an mlc-chat-config.json; `from_dict` reads it back."""


class GGUFFields(Protocol):
    """A GGUF file's metadata, by the keys of its architecture ("attention.head_count"). The error
    for an impossible value names the key."""

    def __contains__(self, key: str) -> bool: ...

    def size(self, key: str, default: int | None = None) -> int:
        """A positive whole number."""

    def layers(self, key: str) -> int:
        """A number of layers that can be."""

    def sizes(self, key: str) -> list[int]:
        """One size for each layer; 0 for a layer without one."""

    def flags(self, key: str) -> list[bool]:
        """One flag for each layer."""

    def number(self, key: str, default: float | None = None) -> float:
        """A positive number."""

    def flag(self, key: str, default: bool) -> bool: ...

    def text(self, key: str) -> str | None:
        """None: the file has no such key, or no text in it."""

    def raw(self, key: str) -> Any:
        """The value of a key that is there."""

    def has_tensor(self, name: str) -> bool: ...

    def rows(self, tensor: str, axis: int = 0) -> int:
        """The number of rows of a tensor in the file, or its length along another axis."""

    def row_lengths(self, tensor: str, first: int, count: int) -> list[float]:
        """The lengths of some rows of a matrix."""

    def values(self, tensor: str) -> list[float]:
        """The values of a small tensor in the file."""


def refuse_causal(fields: GGUFFields, *, usual: bool = True) -> None:
    """Of an encoder's file. `usual`: what a file means that does not say it."""
    key = "attention.causal"
    if fields.flag(key, usual):
        raise UnsupportedError(f"{key} must be false in a file of this architecture", param=key)


@dataclass(frozen=True)
class GGUFFormat:
    """How llama.cpp writes the models of a family.

    `config` returns those fields of Hugging Face's config.json that not every architecture has,
    such as `hidden_act`. `experts`: it is the family of the architecture's files with experts, if
    another family has those without. `scales`: modules whose tensor `.scale` the model uses by
    itself. Elsewhere it is a factor of the module's weight. `numbers`: keys of the metadata with
    a number for each layer, which become tensors of one element (`blk.3.xielu.beta`). `others`:
    architectures that are the same for a text, of models that also take pictures.
    """

    architecture: str  # the file's `general.architecture`
    hf_class: str  # Hugging Face's `architectures[0]`
    config: Callable[[GGUFFields], dict[str, Any]] = lambda fields: {}
    tensors: Callable[[Any], TensorMap] = lambda c: GGUF
    experts: bool = False
    scales: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


_AS_OURS = TensorMap(layer="", sources={})


@dataclass(frozen=True)
class MLCFormat:
    """How the `-MLC` folders that MLC-LLM's converter made differ from ours (`stored_parts.py`).

    `tensors`: where they store the roles whose tensors are not ours, and the transforms that all
    norms need. The other tensors have our names, behind `prefix`.
    """

    tensors: Callable[[Any], TensorMap] = lambda c: _AS_OURS
    prefix: str = ""
    plain: frozenset[str] = frozenset()  # uses of weights that no scheme quantizes
    router_is_linear: bool = False  # so schemes quantize it
    float32: frozenset[str] = frozenset()  # roles that are float32 in every scheme
    float8: frozenset[str] = frozenset()  # roles that are 8-bit floats where blocks of them are


@dataclass(frozen=True)
class ModelFamily:
    """An entry of the registry."""

    config_class: type[ModelConfig]
    decoder: Callable[[Any], DecoderSpec]
    # where a Hugging Face folder stores them
    tensors: Callable[[Any], TensorMap] = lambda c: HUGGING_FACE
    gguf: GGUFFormat | None = None
    mlc: MLCFormat | None = None  # None: MLC-LLM's folders are as ours
    # how embedding models of this family make a vector if no file says it; None: a chat model
    pooling: PoolingStrategy | None = None
    has_classifier: bool = False  # whether the class ...ForSequenceClassification is supported
    # what names of tensors hold that the model does not use, and what a user should know of that
    unused: str = ""
    note: Callable[[Any], str] = lambda c: ""

    def weight_map(self, config: Any, source: FileFormat = "huggingface") -> list[WeightSource]:
        """All tensors of the model in the order of the library's parameters, and where a file of
        the format `source` stores them."""
        tensors = self.tensors
        if source == "gguf":
            assert self.gguf is not None
            tensors = self.gguf.tensors
        found = weight_map(self.decoder(config), tensors(config))
        if source != "mlc":
            return found
        assert self.mlc is None, "its tensors are not ours"
        return [replace(weight, parts=(Part(weight.name, weight.shape),)) for weight in found]

    def with_draft(self, draft: DraftSpec | None) -> ModelFamily:
        """The family with another part that drafts."""
        if draft is None:
            return self
        return replace(self, decoder=lambda c: replace(self.decoder(c), draft=draft))
