"""A `.gguf` file as a ModelSource: its own tensor names; a config and a tokenizer in Hugging Face's
form."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType
from gguf.quants import quantize

from mlc_llm.compiler.convert.gguf.config import (
    eos_token_ids,
    family_of,
    hf_config,
    layer_numbers,
    sampling_defaults,
)
from mlc_llm.compiler.convert.gguf.projector import Projector
from mlc_llm.compiler.convert.gguf.shards import open_gguf
from mlc_llm.compiler.convert.gguf.tokenizer import tokenizer_files
from mlc_llm.compiler.convert.source import Array, BlockReader, TensorInfo
from mlc_llm.compiler.models import towers
from mlc_llm.compiler.models.family import FileFormat
from mlc_llm.compiler.quantization.gguf.nvfp4 import with_factor
from mlc_llm.compiler.quantization.gguf.types import ANEW, TYPES_ANEW
from mlc_llm.compiler.quantization.stored import Float8Part
from mlc_llm.errors import CorruptFileError, NotFoundError, UnsupportedError

_FACTOR = ".scale"  # ends the name of a factor for a whole weight
_WITH_FACTOR = "NVFP4"


class GGUFModel:
    """A `ModelSource` for one `.gguf` file, or for all shards if the file is a shard. `projector`:
    the file of its tower."""

    format: FileFormat = "gguf"

    def __init__(self, path: Path, projector: Path | None = None) -> None:
        for one in (path, projector):
            if one is not None and not one.is_file():
                raise NotFoundError(f"{one}: no such file", param=str(one))
        self._file = open_gguf(path)
        self._tensors = self._file.tensors()
        self._projector_path = projector

    def tensors(self) -> Mapping[str, TensorInfo]:
        numbers = {name: TensorInfo(name, (1,), "F32") for name in self._numbers}
        return {**self._tensors, **numbers, **self._tower_tensors}

    @cached_property
    def _projector(self) -> Projector | None:
        if self._projector_path is None:
            return None
        return Projector(self._projector_path, self._file, hf_config(self._file)["hidden_size"])

    @cached_property
    def _tower(self) -> Projector | None:
        """The projector's file, if that kind of tower is known."""
        return self._projector if self._projector and self._projector.is_known else None

    @cached_property
    def _tower_tensors(self) -> Mapping[str, TensorInfo]:
        return self._tower.tensors() if self._tower else {}

    @cached_property
    def _numbers(self) -> dict[str, float]:
        """Numbers of the metadata that take the place of tensors."""
        _, format = family_of(self._file)
        return layer_numbers(self._file, format.numbers)

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        if self._tower and name in self._tower_tensors:
            return self._tower.read(name, start, stop)
        if name not in self._tensors:
            return np.array([self._numbers[name]], np.float32)[start:stop]
        values, factor = self._file.read(name, start, stop), self.factor(name, start, stop)
        if factor is None:
            return values
        with np.errstate(all="ignore"):  # the converter checks for infinities
            return values * factor.reshape(-1, *[1] * (values.ndim - 1))

    def factor(self, name: str, start: int = 0, stop: int | None = None) -> Array | None:
        """The factor of a weight, or of each of its experts [start, stop), if the file has one."""
        module = name.removesuffix(".weight")
        other = f"{module}{_FACTOR}"
        if other not in self._tensors or self._uses_scale(module):
            return None
        info, count = self._tensors[other], self._tensors[name].shape[0]
        experts = len(self._tensors[name].shape) == 3
        if info.dtype != "F32" or info.shape not in ((1,), (count,) if experts else (1,)):
            raise CorruptFileError(
                f"tensor {other} is {info.dtype} {list(info.shape)}; the factor of a weight is one "
                "F32, or one for each expert",
                param=other,
            )
        return self._file.read(other) if info.shape == (1,) else self._file.read(other, start, stop)

    def _uses_scale(self, module: str) -> bool:
        """Whether the model uses the module's scale by itself."""
        _, format = family_of(self._file)
        return module.rpartition(".")[2] in format.scales

    def blocks(self) -> BlockReader:
        return _Blocks(self)

    def text_part_of(self) -> str | None:
        found = self._projector
        return found and f"{found.path.name}: {found.kind}"

    def quantized_by(self) -> None:
        """`blocks` gives what is quantized."""
        return None

    def has_weights(self) -> bool:
        return True

    def picture_config(self) -> dict[str, Any]:
        return self._tower.picture_config() if self._tower else {}

    def has_float8(self, name: str) -> bool:
        return False

    def float8_part(self, name: str) -> Float8Part:
        raise AssertionError(name)

    def all_float8(self) -> bool:
        return False

    def read_blocks(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        """Rows as they are stored: uint8 (rows, bytes of a row)."""
        return self._file.read_blocks(name, start, stop)

    def hf_config(self) -> dict[str, Any]:
        config = hf_config(self._file)
        tower = {towers.TOWER_CONFIG: self._tower.tower_config()} if self._tower else {}
        return {**config, **tower}

    def generation_config(self) -> dict[str, Any]:
        ids = eos_token_ids(self._file)
        return {**sampling_defaults(self._file), **({"eos_token_id": ids} if ids else {})}

    def tokenizer_files(self) -> dict[str, bytes]:
        return tokenizer_files(self._file.metadata, self._file.path)


def _need_no_factor(name: str, kind: str, factor: Array | None) -> None:
    if factor is not None:
        raise UnsupportedError(
            f"tensor {name} has type {kind} and a factor beside it, which only {_WITH_FACTOR} may "
            "have; choose another --quantization, such as q4f32_1",
            param=name,
        )


class _Blocks:
    def __init__(self, model: GGUFModel) -> None:
        self._model = model

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        """A type without kernels is read as blocks of the type that replaces it."""
        kind, factor = self._model.tensors()[name].dtype, self._model.factor(name, start, stop)
        if kind == _WITH_FACTOR:
            blocks = self._model.read_blocks(name, start, stop)
            return with_factor(blocks, np.ones(1, np.float32) if factor is None else factor)
        if kind not in TYPES_ANEW:
            _need_no_factor(name, kind, factor)
            return self._model.read_blocks(name, start, stop)
        values = self._model.read(name, start, stop)
        with np.errstate(all="ignore"):  # the converter checks for infinities
            return quantize(values, GGMLQuantizationType[ANEW])
