"""What every model family has to offer the toolchain, and the words they share.

A family is one file in this folder; its entry in `models/__init__.py` names its parts. Nothing here
imports TVM: configurations and weight maps serve the converter, which does not need a compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mlc_llm.compiler.quantization import AnyScheme, StoredParam, WeightUse
from mlc_llm.errors import CorruptFileError

if TYPE_CHECKING:
    from mlc_llm.compiler.nn import Batch, Builder


@dataclass(frozen=True)
class WeightSource:
    """One of our tensors and the Hugging Face tensors that make it.

    `sources` are stacked along the output dimension (axis 0) in this order; `source_shapes` are
    """

    name: str
    sources: tuple[str, ...]
    source_shapes: tuple[tuple[int, ...], ...]
    quantizable: WeightUse | None

    @property
    def shape(self) -> tuple[int, ...]:
        rows = sum(shape[0] for shape in self.source_shapes)
        return (rows, *self.source_shapes[0][1:])

    def stored_params(self, scheme: AnyScheme) -> tuple[StoredParam, ...]:
        """The tensors that a weight folder of that scheme holds for it."""
        return scheme.stored_params(self.name, self.shape, use=self.quantizable)


class ModelConfig(Protocol):
    """The part of a configuration that code outside the family's file may read."""

    hidden_size: int
    num_hidden_layers: int
    vocab_size: int
    context_window_size: int
    sliding_window_size: int

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> ModelConfig:
        """Reads a Hugging Face config.json or the `model_config` of an mlc-chat-config.json."""

    def to_dict(self) -> dict[str, Any]:
        """The `model_config` of an mlc-chat-config.json; `from_dict` reads it back."""


class Model(Protocol):
    """What the library's functions call. Tensors are Relax expressions."""

    @property
    def page_shape(self) -> tuple[int, ...]:
        """Of one page of the key/value cache, in one layer."""

    @property
    def page_dtype(self) -> str: ...

    @property
    def slot_runs(self) -> list[tuple[int, int]]:
        """How the slots lie in it: see ARCHITECTURE.md, "slot_runs"."""

    def embed(self, ids: Any) -> Any:
        """(rows) -> (rows, hidden)."""

    def hidden_states(self, x: Any, batch: Batch, rows: Any, pages: list[Any]) -> Any:
        """(rows of x, hidden) -> what the output head is given of `rows`; appends to `pages`."""

    def logits(self, hidden_states: Any) -> Any:
        """(rows, hidden) -> float32 logits (rows, vocabulary)."""

    def copy_pages(self, source: Any, destination: Any, pages: list[Any]) -> list[Any]:
        """Copies whole pages in every layer."""


class ModelFamily(Protocol):
    """An entry of the registry."""

    @property
    def config_class(self) -> type[ModelConfig]: ...

    def weight_map(self, config: Any) -> list[WeightSource]:
        """All tensors of the model, in the order of the library's parameter list."""

    def build(self, config: Any, nn: Builder) -> Model:
        """The model's layers, ready to be called inside the functions that `nn` builds."""


@dataclass(frozen=True)
class ConfigReader:
    """Typed look-ups in a configuration whose errors name the field."""

    fields: Mapping[str, Any]

    def integer(
        self,
        *names: str,
        default: int | None = None,
        minimum: int = 1,
        maximum: int = 2**24,
    ) -> int:
        """The first of `names` that is set. The bounds keep a hostile file from costing memory."""
        name, value = self._find(names, default)
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            raise CorruptFileError(
                f"config: {name} must be an integer from {minimum} to {maximum}", param=name
            )
        return value

    def number(self, *names: str, default: float | None = None) -> float:
        name, value = self._find(names, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e30:
            raise CorruptFileError(f"config: {name} must be a positive number", param=name)
        return float(value)

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.fields.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise CorruptFileError(f"config: {name} must be true or false", param=name)
        return value

    def mapping(self, name: str) -> Mapping[str, Any] | None:
        value = self.fields.get(name)
        if value is not None and not isinstance(value, Mapping):
            raise CorruptFileError(f"config: {name} must be an object", param=name)
        return value

    def _find(self, names: tuple[str, ...], default: Any) -> tuple[str, Any]:
        for name in names:
            if self.fields.get(name) is not None:
                return name, self.fields[name]
        if default is None:
            raise CorruptFileError(f"config: {names[0]} is missing", param=names[0])
        return names[0], default
