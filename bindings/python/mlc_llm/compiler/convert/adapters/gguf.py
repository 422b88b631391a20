"""Reads a GGUF adapter.

Facts: llama.cpp (src/llama-adapter.cpp, convert_lora_to_gguf.py). The scale is alpha / rank, and 1
if alpha is 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mlc_llm.compiler.convert.adapters.factors import (
    PARAM,
    Adapter,
    Array,
    Factors,
    checked,
    incomplete,
    unsupported,
)
from mlc_llm.compiler.convert.gguf.file import GGUFFile
from mlc_llm.errors import CorruptFileError, InvalidRequestError, NotFoundError

_A, _B = ".lora_a", ".lora_b"
_TABLE = "token_embd.weight"
_CALLED = "adapter.alora.invocation_tokens"
_NOTE = (
    "A GGUF adapter does not say whether it was trained with rsLoRA, DoRA or patterns of alpha: "
    "llama.cpp's converter drops them. If it was, take the PEFT folder."
)


def gguf_adapter(path: Path) -> Adapter:
    if not path.is_file():
        raise NotFoundError(f"{path}: no such file", param=PARAM)
    file = GGUFFile(path)
    _refuse_others(path, file.metadata)
    names = {name[: -len(_A)] for name in file.tensors() if name.endswith((_A, _B))}
    for name in file.tensors():
        if not name.endswith((_A, _B)):
            raise unsupported(path, f"tensor {name} is no factor of a weight")
    factors = {name: _factors(path, file, name) for name in sorted(names)}
    architecture = str(file.metadata.get("general.architecture", ""))
    return Adapter(path, "gguf", factors, architecture, (_NOTE,))


def _refuse_others(path: Path, metadata: dict[str, Any]) -> None:
    if metadata.get("general.type") != "adapter":
        raise InvalidRequestError(f"{path}: this GGUF file is no adapter", param=PARAM)
    if (kind := metadata.get("adapter.type")) != "lora":
        raise unsupported(path, f"adapter.type is {str(kind)[:60]!r}; only lora is supported")
    if metadata.get(_CALLED):
        raise unsupported(path, f"{_CALLED!r} is not supported: it is for parts of a prompt")


def _factors(path: Path, file: GGUFFile, name: str) -> Factors:
    a, b = _read(path, file, name, _A), _read(path, file, name, _B)
    if name == _TABLE:  # llama.cpp keeps both turned
        a, b = b.T, a
    alpha = file.metadata.get("adapter.lora.alpha", 0.0)
    if not isinstance(alpha, (int, float)) or not 0 <= alpha < 1e9:
        raise CorruptFileError(f"{path}: 'adapter.lora.alpha' is no number", param=PARAM)
    rank = max(a.shape[0], 1)
    return checked(path, name, Factors(a, b, alpha / rank if alpha else 1.0))


def _read(path: Path, file: GGUFFile, name: str, part: str) -> Array:
    if name + part not in file.tensors():
        raise incomplete(path, name, part)
    if len(file.tensors()[name + part].shape) != 2:
        raise unsupported(path, f"{name} is a stack of experts")
    return file.read(name + part).astype(np.float32)
