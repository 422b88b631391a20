"""Reads an `-MLC` folder that MLC-LLM's converter made of a model with a tower: as a repository of
floats, which is converted as any other.

A folder of text alone is used as it is (`stored_parts.py`). One with a tower is not: its projector
is quantized, and its tower has the text's floats. (Facts: mlc-ai/mlc-llm, python/mlc_llm/model:
llava, phi3v, vision.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mlc_llm.compiler import quantization
from mlc_llm.compiler.convert.chat_config import CHAT_CONFIG
from mlc_llm.compiler.convert.hf import TOKENIZER_FILES
from mlc_llm.compiler.convert.json_files import read_json
from mlc_llm.compiler.convert.source import Array, TensorInfo, checked_rows
from mlc_llm.compiler.convert.verify import index_of, verify
from mlc_llm.compiler.models.config_reader import ConfigReader
from mlc_llm.compiler.models.family import FileFormat
from mlc_llm.compiler.models.mlc_folders import is_theirs
from mlc_llm.compiler.models.text_part import text_part
from mlc_llm.compiler.models.towers import TOWERS
from mlc_llm.compiler.models.towers.family import TowerInMLC
from mlc_llm.compiler.options import merged_config
from mlc_llm.compiler.quantization.rounding import numpy_dtype
from mlc_llm.compiler.quantization.scheme import Matrix
from mlc_llm.compiler.quantization.stored import Float8Part
from mlc_llm.errors import CorruptFileError, UnsupportedError

TYPES = tuple(name for name, family in TOWERS.items() if family.mlc is not None)
_CODES, _SCALES, _WHOLE = ".q_weight", ".q_scale", ".weight"
_TABLES = ("embed_tokens", "embd")
_HALF = "f32-to-bf16"  # a form of float32 that keeps the upper 16 bits
_TYPES = ("float32", "float16", "bfloat16", "uint32")
_SIZE = 32  # of groups, so that the last one of a row is whole
_OUTS, _GROUPS = 8, 72  # of a weight that every scheme takes; it tells the size of groups


@dataclass(frozen=True)
class _Place:
    """Where a tensor of the folder is."""

    path: Path
    offset: int
    shape: tuple[int, ...]
    dtype: str
    is_half: bool

    def array(self) -> Array:
        """In the file."""
        dtype = "bfloat16" if self.is_half else self.dtype
        mode: Any = "r"
        return np.memmap(self.path, numpy_dtype(dtype), mode, self.offset, self.shape or (1,))


def is_readable(folder: Path) -> bool:
    """Whether it is such a folder."""
    path = folder / CHAT_CONFIG
    if not path.is_file():
        return False
    chat = read_json(path)
    return chat.get("model_type") in TYPES and is_theirs(chat)


class MLCFolder:
    """A `ModelSource`. A quantized weight `X.q_weight` is `X.weight`, in floats."""

    format: FileFormat = "mlc"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._chat = read_json(folder / CHAT_CONFIG)
        self._key = str(self._chat["model_type"])
        self._scheme = quantization.get(str(self._chat.get("quantization")))
        example = f"any{_WHOLE}"
        first, *others = self._matrix(example, (_OUTS, _GROUPS * _SIZE)).stored
        is_plain = first.name == example and not others
        if not is_plain and not any(_GROUPS in param.shape for param in others):
            raise UnsupportedError(
                f"{folder / CHAT_CONFIG}: a folder of {self._key} that MLC-LLM's converter made is "
                f"read in quantizations with groups of {_SIZE} and without one, and this one is "
                f"{self._scheme.name}; convert the model from its Hugging Face folder",
                param="quantization",
            )

    def tensors(self) -> Mapping[str, TensorInfo]:
        return self._infos

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        info = self._infos[name]
        start, stop = checked_rows(info, start, stop)
        stored = self._stored_name(name)
        if stored in self._places:
            place = self._places[stored]
            values = place.array()[start:stop] if info.shape else place.array()
            if place.is_half:
                values = values.astype(np.float32)
            return np.array(values).reshape((stop - start, *info.shape[1:]) if info.shape else ())
        matrix = self._matrix(stored, info.shape)
        parts = zip(matrix.stored, matrix.cut(range(start, stop)).stored, strict=True)
        return matrix.floats(
            [self._part(whole.name, whole.shape, part.shape, start, stop) for whole, part in parts]
        )

    def _part(
        self, name: str, whole: tuple[int, ...], part: tuple[int, ...], start: int, stop: int
    ) -> Array:
        """The outputs [start, stop) of a tensor, along the axis that has them."""
        other = [axis for axis in range(len(whole)) if whole[axis] != part[axis]]
        values = self._places[name].array()
        taken = values.take(np.arange(start, stop), other[0]) if other else values
        return np.ascontiguousarray(taken)

    def blocks(self) -> None:
        return None

    def quantized_by(self) -> None:
        """Quantized again to the same scheme, the weights are those of the folder."""
        return None

    def text_part_of(self) -> str:
        return self._key

    def has_weights(self) -> bool:
        return True

    def picture_config(self) -> dict[str, Any]:
        return dict(self._tower.processor)

    def has_float8(self, name: str) -> bool:
        return False

    def float8_part(self, name: str) -> Float8Part:
        raise AssertionError(name)

    def all_float8(self) -> bool:
        return False

    def hf_config(self) -> dict[str, Any]:
        inner = self._chat.get("model_config")
        fields = ConfigReader(inner if isinstance(inner, Mapping) else {}, source="model_config")
        made = self._tower.config(fields, merged_config(self._chat, {}))
        found = text_part({**made, "model_type": self._key})
        assert found is not None, self._key
        template = self._chat.get("conv_template")
        return {**found, "conv_template": template} if isinstance(template, Mapping) else found

    def generation_config(self) -> dict[str, Any]:
        """The numbers that the folder's config has beside the model's."""
        outside = {k: v for k, v in self._chat.items() if not isinstance(v, (Mapping, str))}
        return {k: v for k, v in outside.items() if k.endswith(("_penalty", "_p", "_token_id"))
                or k == "temperature"}  # fmt: skip

    def tokenizer_files(self) -> dict[str, bytes]:
        paths = [self.folder / name for name in (*TOKENIZER_FILES, "chat_template.jinja")]
        return {path.name: path.read_bytes() for path in paths if path.is_file()}

    @property
    def _tower(self) -> TowerInMLC:
        found = TOWERS[self._key].mlc
        assert found is not None, self._key
        return found

    @cached_property
    def _infos(self) -> dict[str, TensorInfo]:
        found = {}
        for name, place in self._places.items():
            if name.endswith(_SCALES):
                continue
            if name.endswith(_CODES):
                module = name.removesuffix(_CODES)
                info = TensorInfo(f"{module}{_WHOLE}", self._shape(module), "codes")
            else:
                info = TensorInfo(name, place.shape, place.dtype)
            found[self._repository_name(info.name)] = info
        return found

    @cached_property
    def _places(self) -> dict[str, _Place]:
        wrong = verify(self.folder, hashes=False)
        if wrong:
            raise CorruptFileError(wrong[0], param=str(self.folder))
        found = {}
        for shard in read_json(index_of(self.folder))["records"]:
            for tensor in shard["records"]:
                found[tensor["name"]] = self._place(self.folder / shard["dataPath"], tensor)
        return found

    def _place(self, path: Path, tensor: Mapping[str, Any]) -> _Place:
        name, shape, dtype = (tensor.get(key) for key in ("name", "shape", "dtype"))
        is_shape = isinstance(shape, list) and all(type(one) is int and one > 0 for one in shape)
        is_half = tensor.get("format") == _HALF and dtype == "float32"
        if not isinstance(name, str) or not is_shape or dtype not in _TYPES:
            raise CorruptFileError(
                f"{path}: tensor {name} has no shape, or its dtype is none of {', '.join(_TYPES)}",
                param=str(name),
            )
        assert isinstance(shape, list), shape
        size = 2 if is_half else numpy_dtype(dtype).itemsize
        if math.prod(shape) * size != tensor["nbytes"] or tensor["byteOffset"] < 0:
            raise CorruptFileError(
                f"{path}: tensor {name} of shape {shape} in {dtype} does not have "
                f"{tensor['nbytes']} bytes",
                param=name,
            )
        return _Place(path, tensor["byteOffset"], tuple(shape), dtype, is_half)

    def _shape(self, module: str) -> tuple[int, ...]:
        """(out, in) of a quantized weight."""
        given = [self._places.get(f"{module}{end}") for end in (_CODES, _SCALES)]
        shapes = [place.shape for place in given if place is not None]
        sides = shapes[-1] if len(shapes) == 2 and len(shapes[-1]) == 2 else ()
        for outs, groups in (sides, sides[::-1]) if sides else ():
            matrix = self._matrix(f"{module}{_WHOLE}", (outs, groups * _SIZE))
            if [param.shape for param in matrix.stored] == shapes:
                return matrix.shape
        raise CorruptFileError(
            f"{self.folder}: the codes and scales of {module} do not belong together in "
            f"quantization {self._scheme.name}",
            param=f"{module}{_CODES}",
        )

    def _matrix(self, name: str, shape: tuple[int, ...]) -> Matrix:
        (matrix,) = self._scheme.matrices(name, (shape[0], shape[1]), self._use(name))
        return matrix

    def _use(self, name: str) -> Any:
        module = name.removesuffix(_WHOLE).rpartition(".")[2]
        return "embedding" if module in _TABLES else "linear"

    def _repository_name(self, name: str) -> str:
        for theirs, ours in self._tower.names.items():
            name = name.replace(f".{theirs}.", f".{ours}.")
        return name

    def _stored_name(self, name: str) -> str:
        for theirs, ours in self._tower.names.items():
            name = name.replace(f".{ours}.", f".{theirs}.")
        return name
