"""Reads a folder of mlx-lm: `adapter_config.json` and `adapters.safetensors`.

Facts: mlx-lm 0.32 (tuner/utils.py, tuner/lora.py, tuner/dora.py). Its factors are turned against
PEFT's: x @ lora_a @ lora_b. `scale` is the scale itself, and not alpha.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mlc_llm.compiler.convert.adapters.factors import (
    Adapter,
    Array,
    Factors,
    checked,
    incomplete,
    unsupported,
)
from mlc_llm.compiler.convert.json_files import read_json
from mlc_llm.compiler.convert.safetensors_file import SafetensorsFile
from mlc_llm.errors import CorruptFileError

MLX_WEIGHTS = "adapters.safetensors"
_CONFIG = "adapter_config.json"
_PARTS = ("lora_a", "lora_b", "m")
_TABLE = "embed_tokens"


def mlx_adapter(folder: Path) -> Adapter:
    scale = _scale(folder, read_json(folder / _CONFIG))
    file = SafetensorsFile(folder / MLX_WEIGHTS)
    modules: dict[str, dict[str, Array]] = {}
    for name in file.tensors:
        module, _, part = name.rpartition(".")
        if part not in _PARTS:
            raise unsupported(folder, f"tensor {name} is no factor of a weight")
        modules.setdefault(module, {})[part] = file.read(name).astype(np.float32)
    factors = {f"{m}.weight": _factors(folder, m, parts, scale) for m, parts in modules.items()}
    return Adapter(folder, "huggingface", factors)


def _factors(folder: Path, module: str, parts: Mapping[str, Array], scale: float) -> Factors:
    for part in ("lora_a", "lora_b"):
        if part not in parts:
            raise incomplete(folder, module, part)
    a, b = parts["lora_a"], parts["lora_b"]
    if module.endswith(_TABLE):
        return checked(folder, module, Factors(b, a, scale))
    return checked(folder, module, Factors(a.T, b.T, scale, parts.get("m")))


def _scale(folder: Path, config: Mapping[str, Any]) -> float:
    kind = config.get("fine_tune_type", "lora")
    if kind not in ("lora", "dora"):
        raise unsupported(folder, f"fine_tune_type is {str(kind)[:60]!r}, which is no adapter")
    parameters = config.get("lora_parameters")
    scale = parameters.get("scale") if isinstance(parameters, dict) else None
    if not isinstance(scale, (int, float)) or isinstance(scale, bool) or not abs(scale) < 1e9:
        raise CorruptFileError(
            f"{folder}: 'lora_parameters' in {_CONFIG} needs a number 'scale'", param="scale"
        )
    return float(scale)
