"""What an adapter of any format holds: two factors for each weight that it changes.

W' = W + scale * (b @ a)                        LoRA (arXiv 2106.09685)
W' = magnitude * rows of that, each of length 1  DoRA (arXiv 2402.09353)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mlc_llm.compiler.models.family import FileFormat
from mlc_llm.compiler.quantization.rounding import is_finite
from mlc_llm.errors import CorruptFileError, InvalidRequestError, MLCError, UnsupportedError

Array = np.ndarray[Any, Any]
PARAM = "lora-adapter"


@dataclass(frozen=True)
class Factors:
    """The change of one weight (out, in). All arrays are float32."""

    a: Array  # (rank, in)
    b: Array  # (out, rank)
    scale: float
    magnitude: Array | None = None  # (out,), of DoRA

    @property
    def shape(self) -> tuple[int, int]:
        return self.b.shape[0], self.a.shape[1]

    @property
    def rank(self) -> int:
        return self.a.shape[0]


@dataclass(frozen=True)
class Adapter:
    """`factors` by the name of the base's weight, as files of `format` name it ("....weight").

    `architecture`: the base's, if the file names it. `notes`: what a user should know, a line each.
    """

    path: Path
    format: FileFormat
    factors: Mapping[str, Factors]
    architecture: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.factors:
            raise CorruptFileError(
                f"{self.path}: the file holds no factors, so it changes nothing; save it again",
                param=PARAM,
            )


def checked(path: Path, name: str, factors: Factors) -> Factors:
    """The same. Error: arrays that do not fit together, or hold no numbers."""
    a, b, m = factors.a, factors.b, factors.magnitude
    if a.ndim != 2 or b.ndim != 2 or a.shape[0] != b.shape[1] or 0 in (*a.shape, *b.shape):
        raise CorruptFileError(
            f"{path}: the factors of {name} have the shapes {list(a.shape)} and {list(b.shape)}, "
            "which are not (rank, in) and (out, rank)",
            param=name,
        )
    if m is not None and m.shape != b.shape[:1]:
        raise CorruptFileError(
            f"{path}: the magnitude of {name} has shape {list(m.shape)}; it must be "
            f"{list(b.shape[:1])}",
            param=name,
        )
    if not all(is_finite(array) for array in (a, b, m) if array is not None):
        raise CorruptFileError(f"{path}: {name} holds NaN or infinite values", param=name)
    return factors


def incomplete(path: Path, name: str, missing: str) -> MLCError:
    """The error for one factor without the other."""
    return CorruptFileError(f"{path}: {name} has no {missing}", param=name)


def unsupported(path: Path, what: str) -> MLCError:
    """The error for an adapter that changes the model in a way that would be lost."""
    return UnsupportedError(f"{path}: {what}", param=PARAM)


def unfit(path: Path, problem: str) -> MLCError:
    """The error for an adapter of another model."""
    return InvalidRequestError(
        f"{path}: {problem}; the adapter belongs to another base model", param=PARAM
    )
