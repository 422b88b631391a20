"""A tower in a GGUF file of its own ("mmproj"), as llama.cpp keeps it beside the text of a model.

It becomes what a Hugging Face repository has: `tower_config`, the content of its
preprocessor_config.json, and tensors with the repository's names. What one family has is in its
file in `models/towers`. (Facts: ggml-org/llama.cpp, tools/mtmd/clip.cpp and convert_hf_to_gguf.py;
gguf-py's tensor_mapping.py.)
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from gguf import MODEL_ARCH, TensorNameMap, get_tensor_name_map

from mlc_llm.compiler.convert.gguf.fields import Fields
from mlc_llm.compiler.convert.gguf.file import GGUFFile
from mlc_llm.compiler.convert.source import Array, TensorInfo
from mlc_llm.compiler.models import towers
from mlc_llm.compiler.models.towers.family import TowerInGGUF
from mlc_llm.compiler.spec.tower import TowerSpec
from mlc_llm.compiler.spec.tower_weights import tower_weights
from mlc_llm.compiler.spec.transforms import Unpaired
from mlc_llm.errors import CorruptFileError

_ENDS = (".weight", ".bias")
_VERSION = "clip.minicpmv_version"


@dataclass(frozen=True)
class _Stored:
    """The tensors of the file that are one of the repository. `way`: how they become it. "whole":
    there is one, and it is the same; "linear": it is a convolution here, and a linear layer there;
    "frames": each holds one of the frames of a convolution over time; "rows": one follows another;
    "pairs": the rows of each head are in pairs here, and in halves there."""

    tensors: tuple[str, ...]
    way: Literal["whole", "linear", "frames", "rows", "pairs"] = "whole"
    # there, if it has other axes of length 1 than the file; None: it has the same
    shape: tuple[int, ...] | None = None


class Projector:
    """The tower of the model whose text is the file `text`. `is_known`: a model definition for it
    exists for texts of this architecture, and the text has the token that stands for its rows;
    nothing else may be asked of another one."""

    def __init__(self, path: Path, text: GGUFFile, text_width: int) -> None:
        self.path = path
        self._file, self._text = GGUFFile(path), text
        self._given = self._file.tensors()
        self._text_width = text_width
        tokens = text.metadata.get("tokenizer.ggml.tokens")
        self._vocabulary: list[Any] = tokens if isinstance(tokens, list) else []
        self.kind = self._kind()
        self._model_type, self._format = towers.in_gguf(self.kind) or ("", None)
        self.is_known = self._format is not None and self._fits(self._format)
        self._names = dict(self._stored_names()) if self.is_known else {}

    def tower_config(self) -> dict[str, Any]:
        format, fields = self._known, Fields(self._file)
        token = {"image_token_id": self._vocabulary.index(format.token)}
        own = format.config(fields, Fields(self._text))
        vision = {**_vision(fields), **own.get("vision_config", {})}
        return {"model_type": self._model_type, **own, "vision_config": vision, **token}

    def picture_config(self) -> dict[str, Any]:
        fields = Fields(self._file)
        return {**_colours(fields), **self._known.processor(fields)}

    def tensors(self) -> dict[str, TensorInfo]:
        """With the names of a Hugging Face repository."""
        return {name: self._info(name, stored) for name, stored in self._names.items()}

    def read(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        stored = self._names[name]
        if stored.shape is not None:
            whole = self._file.read(stored.tensors[0]).reshape(stored.shape)
            return whole[start:stop] if stored.shape else whole
        if stored.way == "pairs":
            turned = Unpaired(self._head_dim).apply(self._file.read(stored.tensors[0]))
            return turned[start:stop]
        if name.endswith(self._known.turned):
            return self._file.read(stored.tensors[0]).T[start:stop]
        if stored.way == "rows":
            whole = np.concatenate([self._file.read(part) for part in stored.tensors])[start:stop]
        else:
            parts = [self._file.read(part, start, stop) for part in stored.tensors]
            whole = np.stack(parts, axis=2) if stored.way == "frames" else parts[0]
        if stored.way == "linear":
            whole = whole.transpose(0, 2, 3, 1).reshape(len(whole), -1)
        return whole - 1 if name.endswith(self._known.plus_one) else whole

    def _fits(self, format: TowerInGGUF) -> bool:
        """The text of another model may have the same token and width."""
        architecture = self._text.metadata.get("general.architecture")
        return architecture in format.texts and format.token in self._vocabulary

    @property
    def _known(self) -> TowerInGGUF:
        assert self._format is not None, self.kind
        return self._format

    def _kind(self) -> str:
        fields = Fields(self._file)
        if self._file.metadata.get("general.architecture") != "clip":
            raise CorruptFileError(
                f"{self.path}: 'general.architecture' is not 'clip': this is no projector file",
                param="general.architecture",
            )
        kind = fields.text("vision.projector_type") or fields.text("projector_type") or ""
        # of LLaVA 1.6, and of MiniCPM-V
        more = (fields.text("vision.mm_patch_merge_type"), self._file.metadata.get(_VERSION))
        return " ".join(str(word) for word in (kind, *more) if word not in (None, "flat"))

    def _spec(self) -> TowerSpec:
        found = towers.spec_of({towers.TOWER_CONFIG: self.tower_config()}, self._text_width)
        assert found is not None, self.kind
        return found

    def _stored_names(self) -> Iterator[tuple[str, _Stored]]:
        """The repository's tensors, and those of the file that hold them. A missing one has no
        entry: the converter then says which."""
        spec = self._spec()
        self._head_dim = spec.head_dim
        known = get_tensor_name_map(MODEL_ARCH.MMPROJ, spec.layers)
        own = self._known.tensors(Fields(self._file))
        for weight in tower_weights(spec):
            for part in weight.parts:
                module, end = _split(part.tensor)
                last = module.removeprefix(spec.projector_prefix)
                stored = own.get(last) or _name_in(known, part.tensor) or ""
                stored = f"{stored.removesuffix(end)}{end}"
                if len(part.source_shape) == 5 and f"{stored}.1" in self._given:
                    yield part.tensor, _Stored((stored, f"{stored}.1"), "frames")
                elif self._known.paired and re.search(r"\.attn_[qk]\.", stored):
                    if stored in self._given:
                        yield part.tensor, _Stored((stored,), "pairs")
                elif stored in self._given:
                    is_linear = len(part.source_shape) == 2 and len(self._given[stored].shape) == 4
                    one, shape = self._turned_back(stored, part.source_shape), part.source_shape
                    given = self._given[one].shape
                    is_other = shape != given and _long(given) == _long(shape)
                    way: Literal["linear", "whole"] = "linear" if is_linear else "whole"
                    yield part.tensor, _Stored((one,), way, shape if is_other else None)
                elif all(one in self._given for one in _thirds(stored)):
                    yield part.tensor, _Stored(_thirds(stored), "rows")

    def _turned_back(self, name: str, shape: tuple[int, ...]) -> str:
        """The first converters wrote `ffn_up` and `ffn_down` under each other's name."""
        for one, other in ((".ffn_up.", ".ffn_down."), (".ffn_down.", ".ffn_up.")):
            swapped = name.replace(one, other)
            is_other = one in name and _long(self._given[name].shape) != _long(shape)
            if is_other and swapped in self._given:
                return swapped
        return name

    def _info(self, name: str, stored: _Stored) -> TensorInfo:
        infos, way = [self._given[part] for part in stored.tensors], stored.way
        rows, *rest = infos[0].shape
        if any(list(i.shape[1:]) != rest for i in infos) or (way == "frames" and len(rest) != 3):
            raise CorruptFileError(
                f"{self.path}: tensors {', '.join(stored.tensors)} do not belong together; their "
                f"shapes are {', '.join(str(list(i.shape)) for i in infos)}",
                param=stored.tensors[0],
            )
        if way == "linear":
            rest = [math.prod(rest)]
        elif way == "frames":
            rest.insert(1, len(infos))
        elif way == "rows":
            rows = sum(i.shape[0] for i in infos)
        shape = (rows, *rest) if stored.shape is None else stored.shape
        return replace(infos[0], name=name, shape=shape)


def _name_in(table: TensorNameMap, tensor: str) -> str | None:
    return table.get_name(tensor, _ENDS) or table.get_name(tensor.removeprefix("model."), _ENDS)


def _split(tensor: str) -> tuple[str, str]:
    end = next((end for end in _ENDS if tensor.endswith(end)), "")
    return tensor.removesuffix(end), end


def _long(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(length for length in shape if length != 1)


def _thirds(tensor: str) -> tuple[str, ...]:
    """The names of what `attn_qkv` is in most files, and `attn.qkv` of a resampler."""
    return tuple(tensor.replace("qkv.", f"{one}.") for one in "qkv")


def _colours(fields: Fields) -> dict[str, Any]:
    """GGUF stores float32: 0.2 would be 0.20000000298."""
    found = {name: f"vision.{name}" for name in ("image_mean", "image_std")}
    given = {name: fields.raw(key) for name, key in found.items() if key in fields}
    return {
        name: [float(str(np.float32(one))) for one in value] if _are_numbers(value) else value
        for name, value in given.items()
    }


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) in (int, float) for one in value)


def _vision(fields: Fields) -> Mapping[str, Any]:
    """The `vision_config` of a repository with this tower."""
    tanh, silu = fields.flag("use_gelu", False), fields.flag("use_silu", False)
    return {
        "hidden_size": fields.size("vision.embedding_length"),
        "intermediate_size": fields.size("vision.feed_forward_length"),
        "num_hidden_layers": fields.layers("vision.block_count"),
        "num_attention_heads": fields.size("vision.attention.head_count"),
        "image_size": fields.size("vision.image_size"),
        "patch_size": fields.size("vision.patch_size"),
        "layer_norm_eps": fields.number("vision.attention.layer_norm_epsilon"),
        "hidden_act": "silu" if silu else "gelu_pytorch_tanh" if tanh else "quick_gelu",
    }
