"""GGUF metadata to a Hugging Face `config.json`.

(Facts: ggml-org/llama.cpp, convert_hf_to_gguf.py and docs/gguf.md, for the keys and for which
architectures store the rows of q and k in interleaved rotary order.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_llm.compiler.convert.gguf.file import GGUFFile
from mlc_llm.errors import CorruptFileError, UnsupportedError


@dataclass(frozen=True)
class _Architecture:
    model_type: str
    hf_class: str
    interleaved_rotary: bool


_ARCHITECTURES = {
    "llama": _Architecture("llama", "LlamaForCausalLM", True),
    "qwen2": _Architecture("qwen2", "Qwen2ForCausalLM", False),
    "qwen3": _Architecture("qwen3", "Qwen3ForCausalLM", False),
}
_END_TOKENS = ("eos_token_id", "eot_token_id", "eom_token_id")


def hf_config(file: GGUFFile) -> dict[str, Any]:
    """The config of the model; raises on a missing or senseless field."""
    architecture, fields = _architecture(file), _Fields(file)
    tensors = file.tensors()
    hidden = fields.size("embedding_length")
    heads = fields.size("attention.head_count")
    embedding = tensors.get("token_embd.weight")
    if embedding is None:
        raise CorruptFileError(
            f"{file.path}: tensor 'token_embd.weight' is missing", param="token_embd.weight"
        )
    config: dict[str, Any] = {
        "architectures": [architecture.hf_class],
        "model_type": architecture.model_type,
        "hidden_act": "silu",
        "hidden_size": hidden,
        "intermediate_size": fields.size("feed_forward_length"),
        "num_hidden_layers": fields.size("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": fields.size("attention.head_count_kv", heads),
        "head_dim": fields.size("attention.key_length", max(1, hidden // heads)),
        "rms_norm_eps": fields.number("attention.layer_norm_rms_epsilon"),
        "rope_theta": fields.number("rope.freq_base", 10000.0),
        "max_position_embeddings": fields.size("context_length"),
        "vocab_size": embedding.shape[0],
        "tie_word_embeddings": "output.weight" not in tensors,
        "attention_bias": "blk.0.attn_q.bias" in tensors,
        "mlp_bias": "blk.0.ffn_gate.bias" in tensors,
        "torch_dtype": "float32",
    }
    _refuse_what_is_missing_here(file, fields, config["head_dim"])
    if "attention.sliding_window" in fields:
        config["sliding_window"] = fields.size("attention.sliding_window")
    config["rope_scaling"] = _rope_scaling(file, fields, config["head_dim"])
    return config | _token_ids(file, fields)


def heads_of_rows(file: GGUFFile, hf_name: str) -> int | None:
    """How many heads the rows of a tensor in interleaved rotary order make; None for any other."""
    if not _architecture(file).interleaved_rotary:
        return None
    fields = _Fields(file)
    heads = fields.size("attention.head_count")
    if ".q_proj." in hf_name:
        return heads
    return fields.size("attention.head_count_kv", heads) if ".k_proj." in hf_name else None


def eos_token_ids(file: GGUFFile) -> list[int]:
    """Every token that ends an answer."""
    fields = _Fields(file)
    ids = [fields.token(name) for name in _END_TOKENS]
    return list(dict.fromkeys(token for token in ids if token is not None))


class _Fields:
    """Typed access to the architecture's metadata."""

    def __init__(self, file: GGUFFile) -> None:
        self._file = file
        self._prefix = file.metadata["general.architecture"]

    def size(self, key: str, default: int | None = None) -> int:
        value = self._get(key, default)
        if isinstance(value, list) and value and all(item == value[0] for item in value):
            value = value[0]
        if type(value) is not int or not 0 < value < 1 << 31:
            raise self._bad(key, "must be a positive whole number", value)
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self._get(key, default)
        if type(value) not in (int, float) or not math.isfinite(value) or value <= 0:
            raise self._bad(key, "must be a positive number", value)
        return float(str(np.float32(value)))  # 1e-05, not 9.999999747e-06: as config.json has it

    def __contains__(self, key: str) -> bool:
        return f"{self._prefix}.{key}" in self._file.metadata

    def text(self, key: str) -> str | None:
        value = self._file.metadata.get(f"{self._prefix}.{key}")
        return value if isinstance(value, str) else None

    def token(self, name: str) -> int | None:
        value = self._file.metadata.get(f"tokenizer.ggml.{name}")
        return value if type(value) is int and 0 <= value < 1 << 31 else None

    def _get(self, key: str, default: Any) -> Any:
        name = f"{self._prefix}.{key}"
        value = self._file.metadata.get(name, default)
        if value is None:
            raise CorruptFileError(f"{self._file.path}: {name!r} is missing", param=name)
        return value

    def _bad(self, key: str, problem: str, value: Any) -> CorruptFileError:
        name = f"{self._prefix}.{key}"
        return CorruptFileError(
            f"{self._file.path}: {name!r} {problem}, not {value!r:.80}", param=name
        )


def _architecture(file: GGUFFile) -> _Architecture:
    name = file.metadata.get("general.architecture")
    if not isinstance(name, str):
        raise CorruptFileError(
            f"{file.path}: 'general.architecture' is missing", param="general.architecture"
        )
    if name not in _ARCHITECTURES:
        raise UnsupportedError(
            f"{file.path}: architecture {name!r} cannot be read from GGUF; "
            f"known: {', '.join(_ARCHITECTURES)}",
            param="general.architecture",
        )
    return _ARCHITECTURES[name]


def _refuse_what_is_missing_here(file: GGUFFile, fields: _Fields, head_dim: int) -> None:
    """Variants of the architectures that would convert into something wrong."""
    rotary = fields.size("rope.dimension_count", head_dim)
    problem, param = None, ""
    if rotary != head_dim:
        problem = f"rotary embedding over {rotary} of {head_dim} dimensions"
        param = "rope.dimension_count"
    elif "expert_count" in fields:
        problem, param = "a mixture of experts", "expert_count"
    elif file.metadata.get("split.count", 1) != 1:
        problem = "one part of a split file (merge the parts with llama-gguf-split first)"
        param = "split.count"
    if problem is not None:
        raise UnsupportedError(f"{file.path}: {problem} is not supported", param=param)


def _token_ids(file: GGUFFile, fields: _Fields) -> dict[str, int | list[int]]:
    ends = eos_token_ids(file)
    ids = {"bos_token_id": fields.token("bos_token_id")}
    ids["pad_token_id"] = fields.token("padding_token_id")
    known: dict[str, int | list[int]] = {k: v for k, v in ids.items() if v is not None}
    if ends:
        known["eos_token_id"] = ends[0] if len(ends) == 1 else ends
    return known


def _rope_scaling(file: GGUFFile, fields: _Fields, head_dim: int) -> dict[str, Any] | None:
    if "rope_freqs.weight" in file.tensors():
        factors = file.read("rope_freqs.weight").astype(np.float64)
        return _llama3_scaling(file, factors, fields.number("rope.freq_base", 10000.0), head_dim)
    kind = fields.text("rope.scaling.type")
    if kind in (None, "none"):
        return None
    factor = fields.number("rope.scaling.factor", 1.0)
    if kind == "linear":
        return {"rope_type": "linear", "factor": factor}
    if kind == "yarn":
        original = fields.size("rope.scaling.original_context_length")
        return {
            "rope_type": "yarn",
            "factor": factor,
            "original_max_position_embeddings": original,
        }
    raise UnsupportedError(f"rope scaling {kind!r} is not supported", param="rope.scaling.type")


def _llama3_scaling(
    file: GGUFFile, factors: np.ndarray[Any, Any], theta: float, head_dim: int
) -> dict[str, Any]:
    """Llama 3's scaling, which GGUF holds only as the factor of each frequency.

    The model's own constants are tried and must give these factors back.
    """
    scaling = {
        "rope_type": "llama3",
        "factor": round(float(factors.max()), 4),
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    expected = llama3_factors(scaling, theta, head_dim)
    if factors.shape != expected.shape or not np.allclose(factors, expected, rtol=1e-3):
        raise UnsupportedError(
            f"{file.path}: 'rope_freqs.weight' holds frequency factors of an unknown scaling",
            param="rope_freqs.weight",
        )
    return scaling


def llama3_factors(scaling: dict[str, Any], theta: float, head_dim: int) -> np.ndarray[Any, Any]:
    """What each rotary frequency is divided by under Llama 3's scaling, [head_dim / 2]."""
    wavelength = 2 * math.pi * theta ** (np.arange(0, head_dim, 2) / head_dim)
    turns = scaling["original_max_position_embeddings"] / wavelength
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    smooth = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return 1.0 / ((1.0 - smooth) / scaling["factor"] + smooth)
