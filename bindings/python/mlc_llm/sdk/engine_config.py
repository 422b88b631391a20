"""MLC-LLM's `EngineConfig` for Python: this engine also accepts its names of the settings.

`mlc_llm.types_gen.EngineConfig` has the names that this engine itself uses.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from mlc_llm.errors import UnsupportedError
from mlc_llm.errors.nearest import did_you_mean

if TYPE_CHECKING:
    from mlc_llm.types_gen import (
        EngineMode,
        KVCacheDType,
        PrefillMode,
        PrefixCacheMode,
        SpeculativeMode,
    )

_PAGE_SIZE = 16  # in tokens; the kernels are compiled for it
# These are not for the core: what to load and how, and names without a setting here.
_APART = ("model", "model_lib", "mode", "opt", "kv_cache_page_size", "kv_state_kind", "verbose")


@dataclass
class EngineConfig:
    """How an engine runs a model. A None follows from the mode, the model and the memory.

    `model`, `model_lib` and `mode` can be given here or to the engine. `opt` is for a library that
    must be compiled. `verbose` has no effect: an engine logs to the `log` that it gets.
    """

    model: str | None = None
    model_lib: str | None = None
    additional_models: list[str | tuple[str, str]] = field(default_factory=list)
    mode: EngineMode | None = None
    tensor_parallel_shards: int | None = None
    pipeline_parallel_stages: int | None = None
    opt: str | None = None
    gpu_memory_utilization: float | None = None
    kv_cache_page_size: int = _PAGE_SIZE
    kv_cache_dtype: KVCacheDType | None = None
    max_num_sequence: int | None = None
    max_total_sequence_length: int | None = None
    max_single_sequence_length: int | None = None
    prefill_chunk_size: int | None = None
    sliding_window_size: int | None = None
    attention_sink_size: int | None = None
    max_history_size: int | None = None
    kv_state_kind: Literal["kv_cache", "rnn_state"] | None = None
    speculative_mode: SpeculativeMode | None = None
    spec_draft_length: int = 0
    spec_tree_width: int = 1
    prefix_cache_mode: PrefixCacheMode = "radix"
    prefix_cache_max_num_recycling_seqs: int | None = None
    prefill_mode: PrefillMode = "hybrid"
    verbose: bool = True

    def __new__(cls, *_: object, **given: object) -> EngineConfig:
        known = [one.name for one in fields(cls)]
        for name in given:
            if name not in known:
                meant = did_you_mean(name, known, "; ")
                raise TypeError(f"EngineConfig has no field '{name}'{meant}")
        return super().__new__(cls)

    def asjson(self) -> str:
        """The fields as JSON text."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(json_str: str) -> EngineConfig:
        """The config of a text that `asjson` made."""
        return EngineConfig(**json.loads(json_str))

    def core_settings(self) -> dict[str, Any]:
        """The settings for the core, without those that have their default value."""
        if self.kv_cache_page_size != _PAGE_SIZE:
            message = f"pages have {_PAGE_SIZE} tokens; leave kv_cache_page_size out"
            raise UnsupportedError(message, param="engine_config.kv_cache_page_size")
        if self.kv_state_kind == "rnn_state":
            message = "models with recurrent states are not supported"
            raise UnsupportedError(message, param="engine_config.kv_state_kind")
        defaults = asdict(EngineConfig())
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in _APART and value != defaults[name]
        }
