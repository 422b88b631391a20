"""What a model would take, said before it is loaded."""

from __future__ import annotations

from codegen.schema.base import Model, field, maybe
from codegen.schema.models import InputModality


class Plan(Model):
    """What an engine would allocate for a model in a mode, and whether that fits."""

    model: str = field(..., "The model's name.")
    model_type: str = field(..., "The model's family, such as `llama`.")
    quantization: str = field(..., "The scheme of its weights, such as `q4f32_1`.")
    device: str = field(..., "The device, such as `cpu:0`.")
    mode: str = field(..., "The engine's mode.")
    max_num_sequence: int = field(..., "How many sequences are generated at the same time.", ge=0)
    max_total_seq_length: int = field(
        ..., "The capacity of the KV cache, all sequences together.", unit="tokens", ge=0
    )
    context_window_size: int = field(..., "The longest sequence.", unit="tokens", ge=0)
    context_limit: str | None = maybe(
        "What would allow a longer sequence. Missing: nothing would, the model ends there."
    )
    prefill_chunk_size: int = field(
        ..., "The most tokens of prompts that one step takes in.", unit="tokens", ge=0
    )
    kv_bytes_per_token: int = field(..., "Keys and values of one token.", unit="bytes", ge=0)
    kv_cache_dtype: str = field(..., "The precision of cached keys and values, such as `q8`.")
    parameter_bytes: int = field(..., "The weights, without `table_bytes`.", unit="bytes", ge=0)
    table_bytes: int = field(
        ...,
        "Tables of which a token reads single rows, as embeddings. On a CPU they stay in the "
        "model's files; no sum counts them, since the system keeps of them what fits.",
        unit="bytes",
        ge=0,
    )
    kv_cache_bytes: int = field(..., "The KV cache.", unit="bytes", ge=0)
    lora_ranks: int = field(
        ..., "The room for adapters that requests choose, in ranks.", unit="ranks", ge=0
    )
    adapter_bytes: int = field(..., "That room.", unit="bytes", ge=0)
    temporary_bytes: int = field(..., "The largest step's temporaries.", unit="bytes", ge=0)
    total_bytes: int = field(..., "All of it.", unit="bytes", ge=0)
    prefix_cache_ram_bytes: int = field(
        ...,
        "The most of the host's memory that keeps what the prefix cache on the device has to drop; "
        "no sum counts it.",
        unit="bytes",
        ge=0,
    )
    available_bytes: int = field(
        ...,
        "What the device has free now, and at most `memory_limit_bytes`.",
        unit="bytes",
        ge=0,
    )
    input_modalities: list[InputModality] = field(..., "What the model reads.")
    fits: bool = field(..., "Whether the engine would load.")
    reason: str | None = maybe("Why it would not.")
    summary: list[str] = field(..., "The same for people, a line an item.")
