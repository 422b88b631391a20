"""Reads a PEFT folder: `adapter_config.json` and `adapter_model.safetensors`.

Facts: peft 0.21 (tuners/lora/config.py, layer.py, dora.py; utils/save_and_load.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
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

PEFT_WEIGHTS = "adapter_model.safetensors"
_CONFIG = "adapter_config.json"
_PREFIX = "base_model.model."
# The parts of a module's change, and how their names end; PEFT may put its own name between.
_PART = re.compile(
    r"(?P<module>.+)\.(?P<part>lora_A|lora_B|lora_embedding_A|lora_embedding_B|"
    r"lora_magnitude_vector)(\.[^.]+)?(?P<kind>\.weight|\.bias)?"
)

_READ = {
    "peft_type", "r", "lora_alpha", "use_rslora", "rank_pattern", "alpha_pattern", "use_dora",
    "bias", "init_lora_weights", "modules_to_save", "trainable_token_indices",
    "target_parameters", "layer_replication",
}  # fmt: skip
# What says how the adapter was trained; the tensors themselves say the rest.
_OF_TRAINING = {
    "task_type", "base_model_name_or_path", "revision", "inference_mode", "target_modules",
    "lora_dropout", "layers_to_transform", "layers_pattern", "exclude_modules", "auto_mapping",
    "peft_version", "fan_in_fan_out", "megatron_config", "megatron_core", "loftq_config",
    "eva_config", "corda_config", "lora_ga_config", "runtime_config", "ensure_weight_tying",
    "qalora_group_size", "lora_bias",
}  # fmt: skip
_NOTHING = (None, False, [], {}, "", "none", 0)
_CHANGED_BASES = ("pissa", "olora", "corda", "loftq")
_MAX_PATTERN = 200  # characters
_QUANTIFIED_GROUP = re.compile(r"\)[*+?{]")


def peft_adapter(folder: Path) -> Adapter:
    config = read_json(folder / _CONFIG)
    _refuse_other_methods(folder, config)
    scales = _Scales.of(folder, config)
    file = SafetensorsFile(folder / PEFT_WEIGHTS)
    modules: dict[str, dict[str, Array]] = {}
    for name in file.tensors:
        module, part = _place(folder, name)
        if part in modules.setdefault(module, {}):
            raise CorruptFileError(f"{folder}: {module} has {part} twice", param=name)
        modules[module][part] = file.read(name).astype(np.float32)
    factors = {f"{m}.weight": _factors(folder, m, parts, scales) for m, parts in modules.items()}
    return Adapter(folder, "huggingface", factors, notes=_notes(config))


def _notes(config: Mapping[str, Any]) -> tuple[str, ...]:
    start = str(config.get("init_lora_weights", "")).lower()
    if not start.startswith(_CHANGED_BASES):
        return ()
    return (
        f"The adapter was trained from {start} weights, which change the base. It gives its answers"
        " only if it was saved in a converted form, or with its own base.",
    )


def _refuse_other_methods(folder: Path, config: Mapping[str, Any]) -> None:
    if config.get("peft_type") != "LORA":
        raise unsupported(
            folder, f"peft_type is {config.get('peft_type')!r}; only LORA adapters are supported"
        )
    for key in ("modules_to_save", "trainable_token_indices", "target_parameters",
                "layer_replication", "lora_bias", "bias"):  # fmt: skip
        if config.get(key) not in _NOTHING:
            raise unsupported(folder, f"{key!r} ({_short(config[key])}) is not supported")
    for key, value in config.items():
        if key not in _READ | _OF_TRAINING and value not in _NOTHING:
            raise unsupported(
                folder,
                f"{_CONFIG} says {key!r}: {_short(value)}, which is not known here, and leaving it "
                "out could change every answer",
            )


def _short(value: Any) -> str:
    return repr(value)[:60]


def _place(folder: Path, name: str) -> tuple[str, str]:
    """The module of a tensor, and which of its parts it is."""
    found = _PART.fullmatch(name.removeprefix(_PREFIX))
    if found is None or found["kind"] == ".bias":
        raise unsupported(folder, f"tensor {name} is no factor of a weight")
    return found["module"], found["part"]


def _factors(folder: Path, module: str, parts: Mapping[str, Array], scales: _Scales) -> Factors:
    a, b, of = "lora_A", "lora_B", parts
    magnitude = parts.get("lora_magnitude_vector")
    if "lora_embedding_A" in parts or "lora_embedding_B" in parts:
        # (rank, tokens) and (width, rank), of a table (tokens, width)
        a, b = "lora_embedding_B", "lora_embedding_A"
        of = {part: array.T for part, array in parts.items()}
        if magnitude is not None:
            raise unsupported(folder, f"{module} is an embedding with a magnitude")
    for part in (a, b):
        if part not in of:
            raise incomplete(folder, module, part)
    if scales.uses_dora != (magnitude is not None) and a == "lora_A":
        missing = "lora_magnitude_vector" if scales.uses_dora else "'use_dora' in its config"
        raise incomplete(folder, module, missing)
    scale = scales.scale(module, of[a].shape[0])
    return checked(folder, module, Factors(of[a], of[b], scale, magnitude))


@dataclass(frozen=True)
class _Scales:
    """`lora_alpha` / rank of each module."""

    folder: Path
    alpha: float
    rank: int
    alphas: Mapping[str, float]
    ranks: Mapping[str, float]
    is_rslora: bool
    uses_dora: bool

    @staticmethod
    def of(folder: Path, config: Mapping[str, Any]) -> _Scales:
        return _Scales(
            folder,
            _number(folder, "lora_alpha", config.get("lora_alpha", 8)),
            int(_number(folder, "r", config.get("r", 8))),
            _patterns(folder, config, "alpha_pattern"),
            _patterns(folder, config, "rank_pattern"),
            config.get("use_rslora") is True,
            config.get("use_dora") is True,
        )

    def scale(self, module: str, rank: int) -> float:
        expected = _by_pattern(self.ranks, module, self.rank)
        if rank != expected:
            raise CorruptFileError(
                f"{self.folder}: {module} has rank {rank}, and {_CONFIG} says {expected:g}",
                param=module,
            )
        alpha = _by_pattern(self.alphas, module, self.alpha)
        return alpha / (math.sqrt(rank) if self.is_rslora else rank)


def _by_pattern(patterns: Mapping[str, float], module: str, otherwise: float) -> float:
    """As peft's `get_pattern_key`: the first pattern that is the end of the module's path."""
    for pattern, value in patterns.items():
        if re.fullmatch(rf"(.*\.)?({pattern})", module):
            return value
    return otherwise


def _patterns(folder: Path, config: Mapping[str, Any], key: str) -> dict[str, float]:
    given = config.get(key) or {}
    if not isinstance(given, dict):
        raise CorruptFileError(f"{folder}: {key!r} in {_CONFIG} is no object", param=key)
    return {_safe(folder, key, text): _number(folder, key, v) for text, v in given.items()}


def _safe(folder: Path, key: str, pattern: str) -> str:
    """The pattern. Error: one that could take for ever to match."""
    few = sum(pattern.count(sign) for sign in "*+{") <= 4
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        few = False
    if not few or len(pattern) > _MAX_PATTERN or _QUANTIFIED_GROUP.search(pattern):
        raise unsupported(folder, f"{key!r} has the pattern {_short(pattern)}; write simpler ones")
    return pattern


def _number(folder: Path, key: str, value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 < value < 1e9:
        raise CorruptFileError(
            f"{folder}: {key!r} in {_CONFIG} is {_short(value)}; it must be a positive number",
            param=key,
        )
    return float(value)
