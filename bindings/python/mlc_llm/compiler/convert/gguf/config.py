"""Turns GGUF metadata into a Hugging Face `config.json`.

This file has the fields that all architectures share. The fields of one family are in its file in
`models`. (Facts: ggml-org/llama.cpp, convert_hf_to_gguf.py and docs/gguf.md.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mlc_llm.compiler import models
from mlc_llm.compiler.convert.gguf.file import GGUFFile
from mlc_llm.compiler.models.config_reader import is_off, may_matter
from mlc_llm.compiler.models.family import GGUFFormat
from mlc_llm.errors import CorruptFileError, UnsupportedError
from mlc_llm.prepare import embedded_model

_END_TOKENS = ("eos_token_id", "eot_token_id", "eom_token_id")
# Metadata that repeats another key or a tensor's shape, or does not change the result. (All
# sections of a rotation have the same position in a text.)
_SAID_ELSEWHERE = frozenset(
    "attention.value_length attention.layer_norm_epsilon rope.scaling.finetuned tensor_data_layout "
    "rope.scaling.attn_factor rope.scaling.original_context_length rope.scaling.factor "
    "rope.dimension_sections".split()
)


def hf_config(file: GGUFFile) -> dict[str, Any]:
    """The config of the model. Raises for a missing or wrong field, and for a field that no family
    reads."""
    model_type, format = family_of(file)
    fields = _Fields(file)
    embedding = file.tensors().get("token_embd.weight")
    if embedding is None:
        raise CorruptFileError(
            f"{file.path}: tensor 'token_embd.weight' is missing", param="token_embd.weight"
        )
    own = format.config(fields)
    config = {
        "architectures": [format.hf_class],
        "model_type": model_type,
        "vocab_size": embedding.shape[0],
        "tie_word_embeddings": "output.weight" not in file.tensors(),
        "torch_dtype": "float32",
        **_common(file, fields, own),
        **own,
        **_embedding(fields),
    }
    _refuse_what_is_missing_here(file, fields)
    return config | _token_ids(fields)


def _common(file: GGUFFile, fields: _Fields, own: dict[str, Any]) -> dict[str, Any]:
    """The fields that have keys in every architecture. Those sizes that a family's `own` fields
    have may be other in each layer, so they are not read here."""
    if fields.raw("attention.head_count") == 0:  # a model without attention
        return {
            "hidden_size": fields.size("embedding_length"),
            "num_hidden_layers": fields.size("block_count"),
            "max_position_embeddings": fields.size("context_length"),
        }
    hidden, heads = fields.size("embedding_length"), fields.size("attention.head_count")
    dim = fields.size("attention.key_length", max(1, hidden // heads))
    rotated = fields.size("rope.dimension_count", dim)
    common: dict[str, Any] = {
        "hidden_size": hidden,
        "num_hidden_layers": fields.size("block_count"),
        "num_attention_heads": heads,
        "head_dim": dim,
        "rms_norm_eps": fields.number(_norm_key(fields)),
        "rope_theta": fields.number("rope.freq_base", 10000.0),
        "rope_scaling": _rope_scaling(file, fields, rotated),
        "max_position_embeddings": fields.size("context_length"),
        "partial_rotary_factor": rotated / dim,
    }
    if "intermediate_size" not in own:
        common["intermediate_size"] = _width(fields)
    if "num_key_value_heads" not in own:
        common["num_key_value_heads"] = fields.size("attention.head_count_kv", heads)
    elif "attention.head_count_kv" in fields:
        fields.raw("attention.head_count_kv")  # the family knows it
    if "attention.sliding_window" in fields:
        common["sliding_window"] = fields.size("attention.sliding_window")
    return common


def _width(fields: _Fields) -> int:
    """Of the MLP; where there are experts alone, a file may have only theirs."""
    only = "feed_forward_length" not in fields and "expert_feed_forward_length" in fields
    return fields.size("expert_feed_forward_length" if only else "feed_forward_length")


# llama.cpp's enumeration of ways to make a vector. (Facts: ggml-org/llama.cpp, include/llama.h.)
_POOLING = {1: "mean", 2: "cls", 3: "last"}
_RANK = 4  # a reranker's, whose score comes from the first hidden state


def _embedding(fields: _Fields) -> dict[str, Any]:
    """How an embedding model makes its vectors. llama.cpp scales all vectors to length 1."""
    if "pooling_type" not in fields or fields.raw("pooling_type") == 0:
        return {}
    kind = fields.raw("pooling_type")
    if kind == _RANK and fields.has_tensor("cls.output.weight"):
        return {}
    if kind not in _POOLING:
        raise UnsupportedError(
            f"pooling_type {kind!r:.20} is not supported; the kinds that are: "
            f"{', '.join(f'{n} ({name})' for n, name in _POOLING.items())}",
            param="pooling_type",
        )
    return {"embedding_metadata": {"pooling_strategy": _POOLING[kind], "normalize": True}}


def _norm_key(fields: _Fields) -> str:
    """That of a layer norm where the file has no other."""
    keys = ["attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"]
    return next((key for key in keys if key in fields), keys[0])


def eos_token_ids(file: GGUFFile) -> list[int]:
    """Every token that ends an answer."""
    return _Fields(file).end_tokens()


# llama.cpp's keys, behind "general.sampling.".
_SAMPLING = {
    "temp": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "penalty_repeat": "repetition_penalty",
    "xtc_probability": "xtc_probability",
    "xtc_threshold": "xtc_threshold",
}


def sampling_defaults(file: GGUFFile) -> dict[str, float]:
    """The values that the file recommends, with the names of generation_config.json; where it
    recommends none, those of its family."""
    found: dict[str, Any] = {
        name: file.metadata.get(f"general.sampling.{key}") for key, name in _SAMPLING.items()
    }
    if not any(value is not None for value in found.values()):
        found = _family_sampling(file)
    return {
        # GGUF stores float32: 0.2 would be 0.20000000298.
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in found.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def _family_sampling(file: GGUFFile) -> dict[str, float]:
    """The embedded model's values, for the instruct models of its family."""
    names = [file.metadata.get(f"general.{key}") for key in ("basename", "name")]
    is_smollm2 = any(isinstance(name, str) and "smollm2" in name.lower() for name in names)
    return dict(embedded_model.SAMPLING) if is_smollm2 else {}


class _Fields:
    """Typed access to the architecture's metadata."""

    def __init__(self, file: GGUFFile) -> None:
        self._file = file
        self._prefix = file.metadata["general.architecture"] + "."
        self._seen: set[str] = set()

    def size(self, key: str, default: int | None = None) -> int:
        value = self._get(key, default)
        if isinstance(value, list) and len(set(value) - {0}) == 1:  # the layers that have any
            value = max(value)
        if type(value) is not int or not 0 < value < 1 << 31:
            raise self._bad(key, "must be a positive whole number", value)
        return value

    def sizes(self, key: str) -> list[int]:
        value, count = self._get(key, None), self.size("block_count")
        values = value if isinstance(value, list) else [value] * count
        if len(values) != count or any(type(v) is not int or not 0 <= v < 1 << 31 for v in values):
            raise self._bad(key, f"must be a whole number for each of {count} layers", value)
        return values

    def flags(self, key: str) -> list[bool]:
        value, count = self._get(key, None), self.size("block_count")
        if not isinstance(value, list) or len(value) != count or set(map(type, value)) != {bool}:
            raise self._bad(key, f"must be true or false for each of {count} layers", value)
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self._get(key, default)
        if type(value) not in (int, float) or not math.isfinite(value) or value <= 0:
            raise self._bad(key, "must be a positive number", value)
        return float(str(np.float32(value)))  # 1e-05, not 9.999999747e-06, as in config.json

    def flag(self, key: str, default: bool) -> bool:
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self._bad(key, "must be true or false", value)
        return value

    def __contains__(self, key: str) -> bool:
        return self._prefix + key in self._file.metadata

    def raw(self, key: str) -> Any:
        return self._get(key, None)

    def text(self, key: str) -> str | None:
        self._seen.add(key)
        value = self._file.metadata.get(self._prefix + key)
        return value if isinstance(value, str) else None

    def has_tensor(self, name: str) -> bool:
        return name in self._file.tensors()

    def rows(self, tensor: str) -> int:
        found = self._file.tensors().get(tensor)
        if found is None:
            raise CorruptFileError(f"{self._file.path}: tensor {tensor!r} is missing", param=tensor)
        return found.shape[0]

    def row_lengths(self, tensor: str, first: int, count: int) -> list[float]:
        """The lengths of some rows of a matrix."""
        found = self._file.tensors().get(tensor)
        if found is None or len(found.shape) != 2 or found.shape[0] < first + count:
            raise CorruptFileError(
                f"{self._file.path}: tensor {tensor!r} must be a matrix of at least "
                f"{first + count} rows",
                param=tensor,
            )
        rows = self._file.read(tensor, first, first + count).astype(np.float64)
        return [float(length) for length in np.sqrt((rows * rows).sum(-1))]

    def values(self, tensor: str) -> list[float]:
        """The content of a small tensor."""
        return [float(value) for value in self._file.read(tensor)]

    def unread(self) -> dict[str, Any]:
        """The fields that were not read and may change the result."""
        metadata = self._file.metadata
        own = {k.removeprefix(self._prefix): v for k, v in metadata.items()
               if k.startswith(self._prefix)}  # fmt: skip
        left = own.keys() - self._seen - _SAID_ELSEWHERE
        if own.get("attention.causal") is True:
            left -= {"attention.causal"}
        return {key: own[key] for key in left if may_matter(key) and not is_off(own[key])}

    def token(self, name: str) -> int | None:
        value = self._file.metadata.get(f"tokenizer.ggml.{name}")
        return value if type(value) is int and 0 <= value < 1 << 31 else None

    def end_tokens(self) -> list[int]:
        ids = [self.token(name) for name in _END_TOKENS]
        return list(dict.fromkeys(token for token in ids if token is not None))

    def _get(self, key: str, default: Any) -> Any:
        self._seen.add(key)
        name = self._prefix + key
        value = self._file.metadata.get(name, default)
        if value is None:
            raise CorruptFileError(f"{self._file.path}: {name!r} is missing", param=name)
        return value

    def _bad(self, key: str, problem: str, value: Any) -> CorruptFileError:
        name = self._prefix + key
        return CorruptFileError(
            f"{self._file.path}: {name!r} {problem}, not {value!r:.80}", param=name
        )


def layer_numbers(file: GGUFFile, keys: tuple[str, ...]) -> dict[str, float]:
    """The numbers of each layer in the metadata, by the names of tensors."""
    layers = _Fields(file).size("block_count") if keys else 0
    found: dict[str, float] = {}
    for key in keys:
        given = file.metadata.get(key)
        values = given if isinstance(given, list) else [given] * layers
        if len(values) != layers or any(type(v) not in (int, float) for v in values):
            raise CorruptFileError(
                f"{file.path}: {key!r} must be a number for each of {layers} layers, not "
                f"{given!r:.80}",
                param=key,
            )
        found |= {f"blk.{layer}.{key}": float(value) for layer, value in enumerate(values)}
    return found


def family_of(file: GGUFFile) -> tuple[str, GGUFFormat]:
    """The name of the family, and its GGUF description."""
    name = file.metadata.get("general.architecture")
    if not isinstance(name, str):
        raise CorruptFileError(
            f"{file.path}: 'general.architecture' is missing", param="general.architecture"
        )
    known = models.gguf_families()
    if name not in known:
        raise UnsupportedError(
            f"{file.path}: architecture {name!r} cannot be read from GGUF; "
            f"known: {', '.join(known)}{models.faults_of_others()}",
            param="general.architecture",
        )
    if file.metadata.get(f"{name}.expert_count"):
        known |= models.gguf_families_of_experts()
    format = models.get(known[name]).gguf
    assert format is not None
    return known[name], format


def _refuse_what_is_missing_here(file: GGUFFile, fields: _Fields) -> None:
    """Refuses variants of the architectures that would convert to something wrong."""
    for key, value in fields.unread().items():
        raise UnsupportedError(
            f"{file.path}: {key!r} is not supported for this architecture (its value here is "
            f"{str(value)[:60]}), and leaving it out could change every answer",
            param=key,
        )


def _token_ids(fields: _Fields) -> dict[str, int | list[int]]:
    ends = fields.end_tokens()
    ids = {"bos_token_id": fields.token("bos_token_id")}
    ids["pad_token_id"] = fields.token("padding_token_id")
    known: dict[str, int | list[int]] = {k: v for k, v in ids.items() if v is not None}
    if ends:
        known["eos_token_id"] = ends[0] if len(ends) == 1 else ends
    return known


def _rope_scaling(file: GGUFFile, fields: _Fields, rotated: int) -> dict[str, Any] | None:
    if "rope_freqs.weight" in file.tensors():
        factors = _divisors(file, rotated)
        if factors.max() >= _STANDS_STILL:
            turning = float(np.mean(factors < _STANDS_STILL))
            return {"rope_type": "proportional", "partial_rotary_factor": turning}
        return _scaling_of(fields, factors, fields.number("rope.freq_base", 10000.0), rotated)
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


def _divisors(file: GGUFFile, rotated: int) -> np.ndarray[Any, Any]:
    """Of the frequencies of all pairs, float64."""
    found = file.read("rope_freqs.weight").astype(np.float64)
    if found.shape != (rotated // 2,) or not (found > 0).all():  # NaN is not > 0
        raise CorruptFileError(
            f"{file.path}: 'rope_freqs.weight' must hold {rotated // 2} positive numbers",
            param="rope_freqs.weight",
        )
    return found


_STANDS_STILL = 1e29  # the divisor of a frequency that llama.cpp writes for none


def _scaling_of(
    fields: _Fields, factors: np.ndarray[Any, Any], theta: float, rotated: int
) -> dict[str, Any]:
    """GGUF has only the divisor of each frequency. Where Llama 3's own constants give these
    divisors, it is Llama 3's scaling; the others are kept as they are, for texts of any length."""
    scaling = {
        "rope_type": "llama3",
        "factor": round(float(factors.max()), 4),
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    expected = llama3_factors(scaling, theta, rotated)
    if factors.shape == expected.shape and np.allclose(factors, expected, rtol=1e-3):
        return scaling
    return {
        "rope_type": "longrope",
        "short_factor": factors.tolist(),
        "long_factor": factors.tolist(),
        "attention_factor": fields.number("rope.scaling.attn_factor", 1.0),
        "original_max_position_embeddings": fields.size("context_length"),
    }


def llama3_factors(scaling: dict[str, Any], theta: float, head_dim: int) -> np.ndarray[Any, Any]:
    """The divisors of the rotary frequencies in Llama 3's scaling, [head_dim / 2]."""
    wavelength = 2 * math.pi * theta ** (np.arange(0, head_dim, 2) / head_dim)
    turns = scaling["original_max_position_embeddings"] / wavelength
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    smooth = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return 1.0 / ((1.0 - smooth) / scaling["factor"] + smooth)
