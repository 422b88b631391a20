"""Reads the quantized weights of a Hugging Face repository as floats.

`quantization_config` in `config.json` names the method. The tensors of a module are:

    awq                 qweight int32 [in, out / 8], qzeros int32 [groups, out / 8],
                        scales [groups, out]: (q - z) * s
    gptq                qweight int32 [in * bits / 32, out], qzeros int32 [groups, out * bits / 32],
                        scales [groups, out], g_idx int32 [in], the group of each input:
                        (q - (z + 1)) * s; checkpoint format `gptq_v2` has no + 1
    fp8, fbgemm_fp8,    hf_scaled.py
    modelopt            hf_scaled.py, hf_nvfp4.py
    compressed-tensors  hf_scaled.py, hf_nvfp4.py; or (q - z) * s of weight_packed int32 [out,
                        in * bits / 32], weight_scale [out, groups], weight_zero_point int32
                        [out * bits / 32, groups] and weight_g_idx int32 [in]
    mxfp4               hf_mxfp4.py
    bitsandbytes        hf_bitsandbytes.py

Facts: casper-hansen/AutoAWQ (awq/modules/linear/gemm.py), AutoGPTQ/AutoGPTQ
(nn_modules/qlinear/qlinear_cuda_old.py), neuralmagic/compressed-tensors
(compressors/quantized_compressors), DeepSeek-V3's README_WEIGHTS.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mlc_llm.compiler.convert.hf_bitsandbytes import bitsandbytes_weights
from mlc_llm.compiler.convert.hf_mxfp4 import mxfp4_weights
from mlc_llm.compiler.convert.hf_nvfp4 import nvfp4_weights
from mlc_llm.compiler.convert.hf_scaled import scaled_weights
from mlc_llm.compiler.convert.source import Array, TensorInfo, checked_rows, wrong_tensor
from mlc_llm.compiler.quantization import awq
from mlc_llm.errors import UnsupportedError

# Reads a tensor in the type of the file: all of it, or rows [start, stop) of its first axis.
ReadTensor = Callable[..., Array]
_FLOATS = ("F32", "F16", "BF16")


class QuantizedWeight(Protocol):
    """A weight (out, in) whose floats must be computed."""

    @property
    def info(self) -> TensorInfo:
        """The name, shape and type as if the file had floats."""

    def rows(self, start: int, stop: int) -> Array:
        """Outputs [start, stop), float32 (outputs, in)."""


@dataclass(frozen=True)
class Repository:
    """The tensors of a repository, and the `quantization_config` of its config."""

    config: Mapping[str, Any]
    tensors: Mapping[str, TensorInfo]
    read: ReadTensor

    def modules(self, suffix: str) -> list[str]:
        """The modules with a tensor named `suffix`."""
        ending = f".{suffix}"
        return [name.removesuffix(ending) for name in self.tensors if name.endswith(ending)]

    def find(self, *names: str) -> TensorInfo | None:
        """The first of these tensors that exists."""
        return next((self.tensors[name] for name in names if name in self.tensors), None)

    def need(self, name: str, shape: tuple[int, ...], *dtypes: str) -> None:
        """Raises an error unless the tensor exists with this shape and one of these types."""
        found = self.tensors.get(name)
        if found is None:
            raise wrong_tensor(name, f"is missing; weights quantized by {self.method} have one")
        if found.shape != shape:
            raise wrong_tensor(
                name, f"has shape {list(found.shape)}; its module asks for {list(shape)}"
            )
        if found.dtype not in dtypes:
            raise wrong_tensor(
                name, f"has type {found.dtype}; its module asks for {' or '.join(dtypes)}"
            )

    @property
    def method(self) -> str:
        return str(self.config.get("quant_method", ""))


def quantized_weights(repository: Repository) -> dict[str, QuantizedWeight]:
    """The quantized weights by name; {} if nothing is quantized."""
    if not repository.config:
        return {}
    find = _METHODS.get(repository.method)
    if find is None:
        raise UnsupportedError(
            f"quantization_config: quant_method {repository.method!r} cannot be read; known are "
            f"{', '.join(sorted(_METHODS))}. Take the repository with the float weights",
            param="quantization_config",
        )
    return {weight.info.name: weight for weight in find(repository)}


def _weight(module: str, shape: tuple[int, ...]) -> TensorInfo:
    return TensorInfo(f"{module}.weight", shape, "F32")


def unpack(words: Array, bits: int) -> Array:
    """The codes of int32 words, lowest bits first: (..., n) -> (..., n * 32 / bits), uint8."""
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    codes = words.view(np.uint32)[..., None] >> shifts & np.uint32((1 << bits) - 1)
    return codes.astype(np.uint8).reshape(*words.shape[:-1], -1)


# ---- AWQ and GPTQ: (in, out) ------------------------------------------------------------------


@dataclass(frozen=True)
class _AWQWeight:
    repository: Repository
    module: str
    info: TensorInfo

    def rows(self, start: int, stop: int) -> Array:
        words = slice(start // awq.PER_WORD, -(-stop // awq.PER_WORD))
        outputs = slice(start - words.start * awq.PER_WORD, stop - words.start * awq.PER_WORD)
        read = self.repository.read
        codes, zeros = (
            awq.unpacked(np.ascontiguousarray(read(f"{self.module}.{name}")[:, words]).view("u4"))
            for name in ("qweight", "qzeros")
        )
        scales = read(f"{self.module}.scales")[:, start:stop].astype(np.float32)
        groups = _even_groups(self.info.shape[1], len(scales))
        centred = codes[:, outputs].astype(np.float32) - zeros[groups, outputs]
        return np.ascontiguousarray((centred * scales[groups]).T)


def _awq(repository: Repository) -> list[QuantizedWeight]:
    config = repository.config
    version, bits = str(config.get("version", "gemm")).lower(), config.get("bits", 4)
    if version != "gemm" or bits != 4:
        raise UnsupportedError(
            f"quantization_config: AWQ of version {version!r} and {bits} bits cannot be read; "
            "version 'gemm' with 4 bits can",
            param="quantization_config",
        )
    found: list[QuantizedWeight] = []
    for module in repository.modules("qweight"):
        ins, words = _matrix(repository, f"{module}.qweight")
        groups = _groups(repository, module, ins, words * awq.PER_WORD)
        repository.need(f"{module}.qzeros", (groups, words), "I32")
        info = _weight(module, (words * awq.PER_WORD, ins))
        found.append(_AWQWeight(repository, module, info))
    return found


@dataclass(frozen=True)
class _GPTQWeight:
    repository: Repository
    module: str
    info: TensorInfo
    bits: int
    zero_offset: int  # added to each stored zero point

    def rows(self, start: int, stop: int) -> Array:
        read, ins = self.repository.read, self.info.shape[1]
        words = np.ascontiguousarray(read(f"{self.module}.qweight")[:, start:stop].T)
        codes = unpack(words, self.bits)[:, :ins].astype(np.float32)  # (out, in)
        scales = read(f"{self.module}.scales")[:, start:stop].astype(np.float32)
        stored = unpack(read(f"{self.module}.qzeros"), self.bits)[:, start:stop]
        zeros = stored.astype(np.float32) + self.zero_offset
        groups = self._groups(len(scales))
        return (codes - zeros[groups].T) * scales[groups].T

    def _groups(self, count: int) -> Array:
        """The group of each input."""
        name, ins = f"{self.module}.g_idx", self.info.shape[1]
        if name not in self.repository.tensors:
            return _even_groups(ins, count)
        return _checked_groups(name, self.repository.read(name), count)


def _even_groups(ins: int, count: int) -> Array:
    """The group of each input, for groups of adjacent inputs."""
    return np.arange(ins) // -(-ins // count)


def _checked_groups(name: str, groups: Array, count: int) -> Array:
    if groups.min(initial=0) < 0 or groups.max(initial=0) >= count:
        raise wrong_tensor(name, f"names groups outside of 0 ... {count - 1}")
    return groups


def _gptq(repository: Repository) -> list[QuantizedWeight]:
    bits = repository.config.get("bits", 4)
    if type(bits) is not int or bits not in (2, 4, 8):
        raise UnsupportedError(
            f"quantization_config: GPTQ of {bits} bits cannot be read; 2, 4 and 8 bits can",
            param="quantization_config",
        )
    offset = 0 if repository.config.get("checkpoint_format") == "gptq_v2" else 1
    per_word = 32 // bits
    found: list[QuantizedWeight] = []
    for module in repository.modules("qweight"):
        words, outs = _matrix(repository, f"{module}.qweight")
        indices = repository.find(f"{module}.g_idx")
        ins = indices.shape[0] if indices is not None and indices.shape else words * per_word
        if indices is not None:
            repository.need(indices.name, (ins,), "I32", "I64")
        repository.need(f"{module}.qweight", (-(-ins // per_word), outs), "I32")
        groups = _groups(repository, module, ins, outs)
        repository.need(f"{module}.qzeros", (groups, -(-outs // per_word)), "I32")
        info = _weight(module, (outs, ins))
        found.append(_GPTQWeight(repository, module, info, bits, offset))
    return found


def _matrix(repository: Repository, name: str) -> tuple[int, int]:
    """The shape of a packed tensor, which must have two axes and hold int32."""
    info = repository.tensors[name]
    if len(info.shape) != 2 or info.dtype != "I32" or 0 in info.shape:
        raise wrong_tensor(
            name, f"is {info.dtype} {list(info.shape)}; quantized weights are I32 with two axes"
        )
    return info.shape[0], info.shape[1]


def _groups(repository: Repository, module: str, ins: int, outs: int) -> int:
    """How many groups the scales [groups, out] have."""
    name = f"{module}.scales"
    scales = repository.find(name)
    groups = scales.shape[0] if scales is not None and scales.shape else 1
    repository.need(name, (groups, outs), *_FLOATS)
    if not 0 < groups <= ins:
        raise wrong_tensor(name, f"has {groups} groups of {ins} inputs")
    return groups


# ---- compressed-tensors: words of codes, (out, in) --------------------------------------------


@dataclass(frozen=True)
class _PackedWeight:
    repository: Repository
    module: str
    info: TensorInfo
    bits: int

    def rows(self, start: int, stop: int) -> Array:
        read, ins = self.repository.read, self.info.shape[1]
        words = np.ascontiguousarray(read(f"{self.module}.weight_packed")[start:stop])
        codes = unpack(words, self.bits)[:, :ins].astype(np.float32)
        scales = read(f"{self.module}.weight_scale")[start:stop].astype(np.float32)
        zeros = self._zeros(start, stop)
        groups = self._groups(scales.shape[1])
        return (codes - zeros[:, groups]) * scales[:, groups]

    def _zeros(self, start: int, stop: int) -> Array:
        """The zero points as codes (outputs, groups). 0 is stored as the middle of the range."""
        name = f"{self.module}.weight_zero_point"
        if name not in self.repository.tensors:
            groups = self.repository.tensors[f"{self.module}.weight_scale"].shape[1]
            return np.full((stop - start, groups), 1 << (self.bits - 1), np.float32)
        words = np.ascontiguousarray(self.repository.read(name).T)  # (groups, words)
        return unpack(words, self.bits)[:, start:stop].T.astype(np.float32)

    def _groups(self, count: int) -> Array:
        name, ins = f"{self.module}.weight_g_idx", self.info.shape[1]
        if name not in self.repository.tensors:
            return _even_groups(ins, count)
        return _checked_groups(name, self.repository.read(name), count)


def _compressed(repository: Repository) -> list[QuantizedWeight]:
    found: list[QuantizedWeight] = []
    floats = nvfp4_weights(repository)
    known = {weight.info.name for weight in floats}
    for module in repository.modules("weight_packed"):
        name = f"{module}.weight_packed"
        if f"{module}.weight" in known:
            continue
        if repository.tensors[name].dtype != "I32":
            raise UnsupportedError(
                f"quantization_config: format {repository.config.get('format')!r} cannot be read "
                f"({name} is {repository.tensors[name].dtype}); pack-quantized, int-quantized, "
                "float-quantized and nvfp4-pack-quantized can",
                param="quantization_config",
            )
        outs, words = _matrix(repository, name)
        repository.need(f"{module}.weight_shape", (2,), "I64", "I32")
        shape = tuple(int(n) for n in repository.read(f"{module}.weight_shape"))
        bits = next((b for b in (4, 8, 2) if -(-shape[1] * b // 32) == words), 0)
        if shape[0] != outs or not bits:
            raise wrong_tensor(
                name, f"has shape [{outs}, {words}], and weight_shape says {list(shape)}"
            )
        scale = repository.find(f"{module}.weight_scale")
        groups = scale.shape[1] if scale is not None and len(scale.shape) == 2 else 1
        repository.need(f"{module}.weight_scale", (outs, groups), *_FLOATS)
        if f"{module}.weight_zero_point" in repository.tensors:
            repository.need(f"{module}.weight_zero_point", (-(-outs * bits // 32), groups), "I32")
        if f"{module}.weight_g_idx" in repository.tensors:
            repository.need(f"{module}.weight_g_idx", (shape[1],), "I32", "I64")
        found.append(_PackedWeight(repository, module, _weight(module, shape), bits))
    return [*found, *floats, *scaled_weights(repository)]


def _modelopt(repository: Repository) -> list[QuantizedWeight]:
    return [*nvfp4_weights(repository), *scaled_weights(repository)]


_METHODS: dict[str, Callable[[Repository], list[QuantizedWeight]]] = {
    "awq": _awq,
    "bitsandbytes": bitsandbytes_weights,
    "compressed-tensors": _compressed,
    "fbgemm_fp8": scaled_weights,
    "fp8": scaled_weights,
    "gptq": _gptq,
    "modelopt": _modelopt,
    "mxfp4": mxfp4_weights,
}


def read_rows(weight: QuantizedWeight, start: int, stop: int | None) -> Array:
    """Rows [start, stop) of a weight, float32."""
    with np.errstate(all="ignore"):  # the converter refuses what is not finite
        return weight.rows(*checked_rows(weight.info, start, stop))
