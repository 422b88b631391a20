"""The schemes `gguf_q4_0`, ...: every tensor keeps the type that it has in its GGUF file.

The name of a scheme is the type of most weights. Tensors of other types, and tensors that are
stacked from several types, are listed in the folder's mlc-chat-config.json:

    "quantization": "gguf_q4_k",
    "weight_types": {"model.layers.0.self_attn.qkv_proj.weight": [["Q4_K", 768], ["Q6_K", 192]]}

This means: 768 rows of Q4_K, then 192 rows of Q6_K. Such a tensor is stored as pieces, `qkv_proj.0`
and `qkv_proj.1`. A tensor of one type has its own name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mlc_llm.compiler.quantization.gguf.types import TYPES, StoredType
from mlc_llm.compiler.quantization.scheme import Matrix, Scheme
from mlc_llm.compiler.quantization.stored import WeightUse
from mlc_llm.errors import CorruptFileError

PREFIX = "gguf_"
NAMES = tuple(PREFIX + kind.name.lower() for kind in TYPES.values() if not kind.is_float)

# For a tensor: the type of its first rows and their number, then the same for the next rows.
Runs = tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True)
class GGUFScheme(Scheme):
    """How the weights of one GGUF file are stored."""

    name: str
    others: Mapping[str, Runs] = field(default_factory=dict)
    model_dtype: str = "float32"  # dtype of norms and biases

    @property
    def usual(self) -> StoredType:
        return TYPES[self.name.removeprefix(PREFIX).upper()]

    def matrices(self, name: str, shape: tuple[int, int], use: WeightUse) -> list[Matrix]:
        module = name.removesuffix(".weight")
        runs = self.others.get(name, ((self.usual.name, shape[0]),))
        if sum(rows for _, rows in runs) != shape[0]:
            raise CorruptFileError(
                f"config: weight_types of {name} must be of {shape[0]} rows", param="weight_types"
            )
        names = [module] if len(runs) == 1 else [f"{module}.{i}" for i in range(len(runs))]
        made = zip(names, runs, strict=True)
        return [_matrix(n, TYPES[kind], (rows, shape[1])) for n, (kind, rows) in made]

    def with_rows(self, name: str, rows: int) -> GGUFScheme:
        if name not in self.others:
            return self
        return replace(self, others={**self.others, name: ((self.others[name][0][0], rows),)})

    def config_fields(self) -> dict[str, Any]:
        """`others_of` reads it."""
        types = {name: [list(run) for run in runs] for name, runs in self.others.items()}
        return super().config_fields() | ({"weight_types": types} if types else {})


def others_of(weight_types: Any) -> dict[str, Runs]:
    """The `weight_types` of a config, checked."""
    if weight_types is None:
        return {}
    if not isinstance(weight_types, Mapping):
        raise _bad("must be an object")
    return {str(name): _runs(str(name), runs) for name, runs in weight_types.items()}


def merged(runs: Sequence[tuple[str, int]]) -> Runs:
    """Joins neighbouring runs of the same type."""
    found: list[tuple[str, int]] = []
    for kind, rows in runs:
        if found and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1] + rows)
        else:
            found.append((kind, rows))
    return tuple(found)


def _runs(name: str, runs: Any) -> Runs:
    good = isinstance(runs, list) and 0 < len(runs) <= 16 and all(map(_is_run, runs))
    if not good:
        raise _bad(f"{name}: must be a list of [type, rows], of the types {', '.join(TYPES)}")
    return tuple((kind, rows) for kind, rows in runs)


def _is_run(run: Any) -> bool:
    if not isinstance(run, list) or len(run) != 2:
        return False
    kind, rows = run
    return isinstance(kind, str) and kind in TYPES and type(rows) is int and 0 < rows < 1 << 31


def _matrix(name: str, kind: StoredType, shape: tuple[int, int]) -> Matrix:
    if shape[1] % kind.block:
        raise _bad(f"{name}: {shape[1]} inputs are no whole number of {kind.name} blocks")
    return kind.matrix(name, shape)


def _bad(problem: str) -> CorruptFileError:
    return CorruptFileError(f"config: weight_types {problem}", param="weight_types")
