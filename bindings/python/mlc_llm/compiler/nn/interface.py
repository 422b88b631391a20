"""What a kind of device implements: the layers that models are built of.

`cpu/layers.py` and `gpu/layers.py` each have a class of it. `Builder` has one, and asks nobody else
what kind of device it builds for. Rows are Relax tensors (n, features); those that a layer gives
may be computed later (`tensors.Deferred`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from tvm import tirx

from mlc_llm.compiler.quantization import Matrix

if TYPE_CHECKING:
    from mlc_llm.compiler.kernels.common.attention_shape import AttentionShape
    from mlc_llm.compiler.kernels.common.function import Arg
    from mlc_llm.compiler.nn.builder import Builder


class Linear(Protocol):
    """x W^T (+ bias) (+ residual)."""

    def __call__(self, x: Any, residual: Any = None) -> Any: ...


class Embedding(Protocol):
    """Rows of a table; `logits` multiplies by it."""

    def __call__(self, ids: Any) -> Any: ...
    def logits(self, x: Any) -> Any: ...


class Norm(Protocol):
    """The norm of x, of all rows or of the chosen `rows`; `add` adds it to a residual."""

    def __call__(self, x: Any, rows: Any = None) -> Any: ...
    def add(self, x: Any, residual: Any) -> Any: ...


class EachRow(Protocol):
    """A function of each row."""

    def __call__(self, x: Any) -> Any: ...


class Gate(Protocol):
    """A function of each row and of its gate."""

    def __call__(self, x: Any, gate: Any) -> Any: ...


class Add(Protocol):
    """Adds something of each row to a residual."""

    def add(self, x: Any, residual: Any) -> Any: ...


class Experts(Protocol):
    """The weighted sum of the chosen experts' results (+ the shared one) (+ the residual)."""

    def __call__(self, x: Any, logits: Any, residual: Any = None, shared: Any = None) -> Any: ...


KernelOf = Callable[..., tirx.PrimFunc]  # from sizes and types


@dataclass(frozen=True, kw_only=True)
class TowerKernels:
    """The kernels of towers. A kernel has one name and takes the same tensors on every device;
    `kernels/cpu` says which. Rows are float32."""

    place_patches: KernelOf
    place_between: KernelOf
    place_resized: KernelOf
    place_in_buckets: KernelOf
    place_by_axes: KernelOf
    place_learned: KernelOf
    rotate_patches: KernelOf
    normalize_patches: KernelOf
    normalize_heads: KernelOf
    clamp: KernelOf
    standardize: KernelOf
    rms_norm: KernelOf
    join_patches: KernelOf
    average_patches: KernelOf
    pick_queries: KernelOf
    add_waves: KernelOf
    attend_views: KernelOf

    @classmethod
    def of(cls, *modules: ModuleType) -> TowerKernels:
        """Those of the modules of a kind of device, by their names."""
        found = {name: made for module in modules for name, made in vars(module).items()}
        return cls(**{kernel.name: found[kernel.name] for kernel in fields(cls)})


class TowerLayers(ABC):
    """What a tower needs of a kind of device besides the layers of texts."""

    kernels: ClassVar[TowerKernels]

    def __init__(self, nn: Builder) -> None:
        self.nn = nn

    @abstractmethod
    def linear(
        self,
        name: str,
        x: Any,
        *,
        bias: bool,
        residual: Any = None,
        activation: str | None = None,
        scale: str | None = None,
    ) -> Any:
        """activation(x W^T (+ bias)), or that times the parameter `scale` (+ residual)."""

    @abstractmethod
    def attend(self, qkv: Any, views: Any, heads: int, dim: int, scale: float) -> Any:
        """Each row sees the rows of its view: those from one of `views` up to the next."""


class DeviceLayers(ABC):
    """The layers of one kind of device, with the weights of a `Builder`."""

    def __init__(self, nn: Builder) -> None:
        self.nn = nn

    # The device

    @property
    def largest_weight(self) -> int:
        """Bytes of a kernel's argument; 0: no limit."""
        return 0

    @abstractmethod
    def of(self, cpu: Any, gpu: Any) -> Any:
        """The one for the device."""

    @abstractmethod
    def reader_of(self, matrix: Matrix) -> Any:
        """What reads a matrix of weights in its kernels."""

    @property
    @abstractmethod
    def row_dtype(self) -> str:
        """The type of rows between layers."""

    @property
    @abstractmethod
    def page_dtype(self) -> str:
        """The type of cached keys and values, without a choice."""

    @abstractmethod
    def typed(self, **dtypes: str) -> dict[str, str]:
        """The types of rows, for kernels of devices that have several."""

    @abstractmethod
    def attention_sizes(self) -> dict[str, Any]:
        """The sizes of the attention kernels' inner loops."""

    @abstractmethod
    def attention_scratch(self, shape: AttentionShape) -> list[Arg]:
        """The temporary tensors of the attention kernels, behind their result."""

    @abstractmethod
    def dot_tile(self) -> dict[str, Any]:
        """The same of small matrices."""

    # Its layers: classes, whose first argument is the Builder

    linear: ClassVar[Callable[..., Linear]]  # (nn, name, (outs, ins), bias)
    embedding: ClassVar[Callable[..., Embedding]]  # (nn, name, (entries, size), scale)
    # `is_exact`: the result is float32 on all devices
    rms_norm: ClassVar[Callable[..., Norm]]  # (nn, name, size, eps, is_exact)
    layer_norm: ClassVar[Callable[..., Norm]]  # (nn, name, size, spec, is_exact)
    gated: ClassVar[Callable[..., EachRow]]  # (nn, size, activation, each): results in a row
    activated: ClassVar[Callable[..., EachRow]]  # the same
    experts: ClassVar[Callable[..., Experts]]  # (nn, spec, hidden, name): of a role's weight
    scale_and_cap: ClassVar[Callable[..., EachRow]]  # (nn, size, scale, cap)
    scaled_add: ClassVar[Callable[..., Add]]  # (nn, size, scale)
    sigmoid_gate: ClassVar[Callable[..., Gate]]  # (nn, size)
    tower: ClassVar[Callable[..., TowerLayers]]  # (nn)
    # the module of its kernels from int32 of each row to int32 of each row
    positions: ClassVar[ModuleType]

    def __init_subclass__(cls) -> None:
        missing = [name for name in DeviceLayers.__annotations__ if name not in vars(cls)]
        assert not missing, f"{cls.__name__} has no {missing}"
