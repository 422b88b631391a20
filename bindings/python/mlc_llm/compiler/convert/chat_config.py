"""`mlc-chat-config.json`: everything that an engine needs of a model besides its weights."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from mlc_llm.compiler.convert.conv_template import conversation_template
from mlc_llm.compiler.models import ModelConfig
from mlc_llm.compiler.models.config_reader import LIMITS, MOST
from mlc_llm.compiler.models.mlc_folders import OURS
from mlc_llm.compiler.stages import check_stages
from mlc_llm.errors import CorruptFileError, InvalidRequestError
from mlc_llm.sdk.sampling_gen import SAMPLING_NUMBERS

CHAT_CONFIG = "mlc-chat-config.json"
VERSION = "0.1.0"
DEFAULT_PREFILL_CHUNK = 2048
# Used if neither generation_config.json nor config.json has a value. MLC-LLM writes 1.0 for the
# first and the last; with these a small quantized model soon writes nonsense. Of 40 answers of the
# embedded model to "What is the capital of France?" 12 named Paris with 1.0, and 35 with these
# values.
_SAMPLING_DEFAULTS = {
    "temperature": 0.7,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "repetition_penalty": 1.0,
    "top_p": 0.95,
}
# MLC-LLM's configs do not have the others; a request that is silent takes them from here too.
_OPTIONAL_SAMPLING = {
    name: neutral for name, neutral in SAMPLING_NUMBERS.items() if name not in _SAMPLING_DEFAULTS
}
_TOKEN_DEFAULTS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


@dataclass(frozen=True, kw_only=True)
class ConfigOverrides:
    """The options of `gen_config`. None keeps the model's value."""

    conv_template: str | None = None
    context_window_size: int | None = None
    sliding_window_size: int | None = None
    prefill_chunk_size: int | None = None
    attention_sink_size: int | None = None
    tensor_parallel_shards: int | None = None
    pipeline_parallel_stages: int | None = None
    max_batch_size: int = 128
    extra: Mapping[str, float] = field(default_factory=dict)  # further fields: "temperature", ...

    def check(self) -> None:
        """Refuses impossible sizes."""
        check_stages(self.pipeline_parallel_stages)
        for name, value in asdict(self).items():
            if not isinstance(value, int):
                continue
            if name == "sliding_window_size" and value == -1:  # none
                continue
            least, most = 0 if "sink" in name else 1, LIMITS.get(name, MOST)
            if not least <= value <= most:
                option = f"--{name.replace('_', '-')}"
                raise InvalidRequestError(
                    f"{option} must be an integer from {least} to {most}, not {value}", param=name
                )


def chat_config(
    hf_config: Mapping[str, Any],
    generation_config: Mapping[str, Any],
    tokenizer_files: Mapping[str, bytes],
    model_config: ModelConfig,
    *,
    model_type: str,
    quantization: str,
    overrides: ConfigOverrides,
    embedding: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The whole file as a dictionary, in MLC-LLM's order of fields. `embedding`: the
    `embedding_metadata` of a model for embeddings."""
    overrides.check()
    sees_all = embedding is not None and embedding["model_type"] != "decoder"
    sizes = _sizes(model_config, overrides, whole_texts=sees_all)
    tokenizer = _json_object(tokenizer_files.get("tokenizer.json"))
    tokens = token_ids(generation_config, hf_config)
    tokenizer_config = _json_object(tokenizer_files.get("tokenizer_config.json"))
    return {
        "version": VERSION,
        "model_type": model_type,
        "quantization": quantization,
        "model_config": model_config.to_dict()
        | sizes
        | {"max_batch_size": overrides.max_batch_size, **OURS},
        "vocab_size": model_config.vocab_size,
        "active_vocab_size": _active_vocab_size(tokenizer, model_config.vocab_size),
        **sizes,
        **_sampling(generation_config, hf_config),
        **overrides.extra,
        "tokenizer_files": sorted(tokenizer_files),
        "tokenizer_info": tokenizer_info(tokenizer),
        "conv_template": _stored_template(hf_config, overrides.conv_template)
        or conversation_template(
            tokenizer_config, tokens["eos_token_id"], name=overrides.conv_template
        ),
        **tokens,
        "model_task": _task(embedding),
        **({} if embedding is None else {"embedding_metadata": dict(embedding)}),
    }


def _stored_template(hf_config: Mapping[str, Any], name: str | None) -> dict[str, Any] | None:
    """That of a folder that MLC-LLM's converter made (`mlc_folder.py`)."""
    given = hf_config.get("conv_template")
    if not isinstance(given, Mapping):
        return None
    return {**given, "name": name} if name else dict(given)


def _task(embedding: Mapping[str, Any] | None) -> str:
    if embedding is None:
        return "chat"
    return "rerank" if embedding["model_type"] == "reranker" else "embedding"


def tokenizer_info(tokenizer: Mapping[str, Any]) -> dict[str, Any]:
    """How tokens become text: read from tokenizer.json in the same way as MLC-LLM reads it."""
    decoders = _steps(tokenizer.get("decoder"), "decoders")
    normalizers = _steps(tokenizer.get("normalizer"), "normalizers")
    byte_level = any(step.get("type") == "ByteLevel" for step in decoders)
    return {
        "token_postproc_method": "byte_level" if byte_level else "byte_fallback",
        "prepend_space_in_encode": any(
            step.get("type") == "Prepend" and step.get("prepend") == "▁" for step in normalizers
        ),
        "strip_space_in_decode": any(
            (step.get("type"), step.get("content"), step.get("start"), step.get("stop"))
            == ("Strip", " ", 1, 0)
            for step in decoders
        ),
    }


def _sizes(config: ModelConfig, overrides: ConfigOverrides, *, whole_texts: bool) -> dict[str, int]:
    """`whole_texts`: a step must hold all rows of a text."""
    context = overrides.context_window_size or config.context_window_size
    sliding = overrides.sliding_window_size or config.sliding_window_size
    limit = sliding if sliding > 0 else context
    chunk = overrides.prefill_chunk_size or (limit if whole_texts else DEFAULT_PREFILL_CHUNK)
    sink = overrides.attention_sink_size
    return {
        "context_window_size": context,
        "sliding_window_size": sliding,
        "prefill_chunk_size": min(chunk, limit),
        "attention_sink_size": getattr(config, "attention_sink_size", 0) if sink is None else sink,
        "tensor_parallel_shards": overrides.tensor_parallel_shards or 1,
        "pipeline_parallel_stages": overrides.pipeline_parallel_stages or 1,
    }


def _sampling(*configs: Mapping[str, Any]) -> dict[str, float]:
    """Sampling defaults: for each name, the first config with a number for it is used."""
    found = {
        name: _first_number(name, default, configs) for name, default in _SAMPLING_DEFAULTS.items()
    }
    for name, neutral in _OPTIONAL_SAMPLING.items():
        value = _first_number(name, neutral, configs)
        if value != neutral:
            found[name] = value
    return found


def _first_number(name: str, default: float, configs: tuple[Mapping[str, Any], ...]) -> float:
    values = (config.get(name) for config in configs)
    numbers = (v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool))
    found = next(numbers, default)
    if not -math.inf < found < math.inf:  # Python's JSON has NaN and Infinity; the core's has not
        raise CorruptFileError(f"config: {name} is {found}, and must be finite", param=name)
    return found


def token_ids(*configs: Mapping[str, Any]) -> dict[str, int | list[int]]:
    """Token ids. The end-of-text ids of all configs are kept, since models end in several ways."""
    ids: dict[str, int | list[int]] = dict(_TOKEN_DEFAULTS)
    for name in ("pad_token_id", "bos_token_id"):
        found = _ids_of(name, configs)
        ids[name] = found[0] if found else ids[name]
    ends = list(dict.fromkeys(_ids_of("eos_token_id", configs)))
    if ends:
        ids["eos_token_id"] = ends[0] if len(ends) == 1 else ends
    return ids


def _ids_of(name: str, configs: tuple[Mapping[str, Any], ...]) -> list[int]:
    """All ids that the configs give for a name."""
    values = (config.get(name) for config in configs)
    every = (v for value in values for v in (value if isinstance(value, list) else [value]))
    ids = [v for v in every if type(v) is int]
    if name == "pad_token_id":
        return [v for v in ids if v != -1]  # "none" in the first Llama's config
    if any(v < 0 for v in ids):
        raise CorruptFileError(
            f"config: {name} is {min(ids)}, and a token's id is at least 0", param=name
        )
    return ids


def _active_vocab_size(tokenizer: Mapping[str, Any], vocab_size: int) -> int:
    """The tokenizer's highest id + 1. Rows behind it are padding and are never sampled."""
    model = tokenizer.get("model")
    vocab = model.get("vocab") if isinstance(model, dict) else None
    ids: list[Any] = []
    if isinstance(vocab, dict):
        ids = list(vocab.values())
    elif isinstance(vocab, list):
        ids = [len(vocab) - 1]
    added = tokenizer.get("added_tokens")
    ids += [token.get("id") for token in _objects(added)]
    known = [index for index in ids if type(index) is int]
    return min(vocab_size, max(known) + 1) if known else vocab_size


def _steps(value: Any, plural: str) -> list[dict[str, Any]]:
    """A component of tokenizer.json, or the members of a sequence of them."""
    if not isinstance(value, dict):
        return []
    return _objects(value.get(plural) if value.get("type") == "Sequence" else [value])


def _objects(value: Any) -> list[dict[str, Any]]:
    """Of a list; the core refuses a tokenizer that has none where one must be."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _json_object(data: bytes | None) -> dict[str, Any]:
    """A JSON object; {} for a missing file (damaged files were refused when they were read)."""
    value = json.loads(data) if data else {}
    return value if isinstance(value, dict) else {}
