"""Finds out which format an adapter has."""

from __future__ import annotations

from pathlib import Path

from mlc_llm.compiler.convert.adapters.factors import PARAM, Adapter
from mlc_llm.compiler.convert.adapters.gguf import gguf_adapter
from mlc_llm.compiler.convert.adapters.mlx import MLX_WEIGHTS, mlx_adapter
from mlc_llm.compiler.convert.adapters.peft import PEFT_WEIGHTS, peft_adapter
from mlc_llm.errors import NotFoundError, UnsupportedError

CONFIG = "adapter_config.json"
_TORCH = "adapter_model.bin"


def open_adapter(path: Path) -> Adapter:
    """Reads a PEFT folder, a folder of mlx-lm, or a `.gguf` file. All factors are in memory."""
    if path.suffix == ".gguf":
        return gguf_adapter(path)
    if not path.is_dir():
        raise NotFoundError(f"{path}: no such folder or .gguf file of an adapter", param=PARAM)
    if (path / PEFT_WEIGHTS).is_file():
        return peft_adapter(path)
    if (path / MLX_WEIGHTS).is_file():
        return mlx_adapter(path)
    if (path / _TORCH).is_file():
        raise UnsupportedError(
            f"{path}: only torch weights ({_TORCH}) are here, and reading them would run code from "
            "the file; save the adapter as safetensors",
            param=PARAM,
        )
    raise NotFoundError(
        f"{path}: no adapter; expected {CONFIG} with {PEFT_WEIGHTS} (PEFT) or {MLX_WEIGHTS} "
        "(mlx-lm), or a .gguf file",
        param=PARAM,
    )
