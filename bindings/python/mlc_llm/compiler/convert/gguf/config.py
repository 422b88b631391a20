"""Turns GGUF metadata into a Hugging Face `config.json`.

This file has the fields that all architectures share. The fields of one family are in its file in
`models`. (Facts: ggml-org/llama.cpp, convert_hf_to_gguf.py and docs/gguf.md.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mlc_llm.compiler import models
from mlc_llm.compiler.convert.gguf.fields import Fields
from mlc_llm.compiler.convert.gguf.file import GGUFFile
from mlc_llm.compiler.models.declared import gguf_flags
from mlc_llm.compiler.models.family import GGUFFormat
from mlc_llm.errors import CorruptFileError, UnsupportedError
from mlc_llm.prepare import embedded_model


def hf_config(file: GGUFFile) -> dict[str, Any]:
    """The config of the model. Raises for a missing or wrong field, and for a field that no family
    reads."""
    model_type, format = family_of(file)
    fields = Fields(file)
    embedding = file.tensors().get("token_embd.weight")
    if embedding is None:
        raise CorruptFileError(
            f"{file.path}: tensor 'token_embd.weight' is missing", param="token_embd.weight"
        )
    flags = gguf_flags(models.get(model_type).config_class, fields)
    own = {**flags, **format.config(fields)}
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


def _common(file: GGUFFile, fields: Fields, own: dict[str, Any]) -> dict[str, Any]:
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


def _width(fields: Fields) -> int:
    """Of the MLP; where there are experts alone, a file may have only theirs."""
    only = "feed_forward_length" not in fields and "expert_feed_forward_length" in fields
    return fields.size("expert_feed_forward_length" if only else "feed_forward_length")


# llama.cpp's enumeration of ways to make a vector. (Facts: ggml-org/llama.cpp, include/llama.h.)
_POOLING = {1: "mean", 2: "cls", 3: "last"}
_RANK = 4  # a reranker's, whose score comes from the first hidden state


def _embedding(fields: Fields) -> dict[str, Any]:
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


def _norm_key(fields: Fields) -> str:
    """That of a layer norm where the file has no other."""
    keys = ["attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"]
    return next((key for key in keys if key in fields), keys[0])


def eos_token_ids(file: GGUFFile) -> list[int]:
    """Every token that ends an answer."""
    return Fields(file).end_tokens()


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


def layer_numbers(file: GGUFFile, keys: tuple[str, ...]) -> dict[str, float]:
    """The numbers of each layer in the metadata, by the names of tensors."""
    layers = Fields(file).size("block_count") if keys else 0
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
            f"{file.path}: architecture {name!r} cannot be read from GGUF"
            f"{models.reason_against(name)}; known: {', '.join(known)}{models.faults_of_others()}",
            param="general.architecture",
        )
    if file.metadata.get(f"{name}.expert_count"):
        known |= models.gguf_families(has_experts=True)
    format = models.get(known[name]).gguf
    assert format is not None
    return known[name], format


def _refuse_what_is_missing_here(file: GGUFFile, fields: Fields) -> None:
    """Refuses variants of the architectures that would convert to something wrong."""
    for key, value in fields.unread().items():
        raise UnsupportedError(
            f"{file.path}: {key!r} is not supported for this architecture (its value here is "
            f"{str(value)[:60]}), and leaving it out could change every answer",
            param=key,
        )


def _token_ids(fields: Fields) -> dict[str, int | list[int]]:
    ends = fields.end_tokens()
    ids = {"bos_token_id": fields.token("bos_token_id")}
    ids["pad_token_id"] = fields.token("padding_token_id")
    known: dict[str, int | list[int]] = {k: v for k, v in ids.items() if v is not None}
    if ends:
        known["eos_token_id"] = ends[0] if len(ends) == 1 else ends
    return known


def _rope_scaling(file: GGUFFile, fields: Fields, rotated: int) -> dict[str, Any] | None:
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
    fields: Fields, factors: np.ndarray[Any, Any], theta: float, rotated: int
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
