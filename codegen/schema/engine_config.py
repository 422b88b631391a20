"""The engine's configuration: `EngineConfig`, and the keys of `--overrides`."""

from __future__ import annotations

from codegen.schema.base import ClosedEnum, Model, maybe, measure


class EngineMode(ClosedEnum):
    """What the engine is for, which sets its other defaults."""

    LOCAL = "local", "At most 16 sequences (4 with recurrent states), 8192 tokens of KV cache."
    INTERACTIVE = "interactive", "One conversation: 1 sequence, as long as the context window."
    SERVER = "server", "Many requests: as many sequences as the model and the memory allow."


class PrefixCacheMode(ClosedEnum):
    """Whether what was computed is kept for requests that begin alike."""

    RADIX = "radix", "Kept in a radix tree of token ids."
    DISABLE = "disable", "Not kept."


class PrefillMode(ClosedEnum):
    """How prompts are taken in beside running answers."""

    HYBRID = "hybrid", "A chunk of a prompt and the running answers share a step."
    CHUNKED = "chunked", "A step takes in chunks of prompts, or continues answers."


class KVCacheDType(ClosedEnum):
    """The precision of cached keys and values."""

    F32 = "f32", "Floats of 32 bits."
    F16 = "f16", "Floats of 16 bits."
    BF16 = "bf16", "Floats of 16 bits with the range of 32 bits."
    Q8 = "q8", "Integers of 8 bits, and a scale for each key and each value of a head."


class SpeculativeMode(ClosedEnum):
    """How tokens are drafted ahead of the model."""

    DISABLE = "disable", "Not at all."
    SMALL_DRAFT = "small_draft", "By a smaller model, the one in `additional_models`."
    PROMPT_LOOKUP = "prompt_lookup", "By what followed the last tokens when they came before."
    MTP = (
        "mtp",
        "By the layer for further tokens in the model's own checkpoint, or by Gemma 4's assistant.",
    )
    EAGLE = "eagle", "By an EAGLE head on the model's hidden states."
    MEDUSA = "medusa", "By Medusa heads on the model's hidden states."


class EmbeddingPooling(ClosedEnum):
    """Which hidden states of a text make its vector."""

    MEAN = "mean", "The mean of those of all its tokens."
    LAST = "last", "That of its last token."
    CLS = "cls", "That of its first token, which many encoders call [CLS]."


class EngineConfig(Model):
    """How an engine runs a model; what is absent follows from the mode, model and memory."""

    closed = True

    mode: EngineMode | None = maybe("What the engine is for. Absent: `local`.")
    max_num_sequence: int | None = maybe(
        "How many sequences are generated at the same time. Absent: by the mode.", ge=1
    )
    max_total_seq_length: int | None = maybe(
        "The capacity of the KV cache, all sequences together. Absent: by the mode.", "tokens", ge=1
    )
    kv_cache_bytes: int | None = maybe(
        "The capacity of the KV cache, said in memory. Absent: by the mode.", "bytes", ge=1
    )
    kv_cache_dtype: KVCacheDType | None = maybe(
        "The precision of cached keys and values. It is compiled into the model library, so a "
        "library that is given must have the same. Absent: the library's own."
    )
    memory_limit_bytes: int | None = maybe(
        "The most that weights, KV cache and temporaries may take. Absent: what is free.",
        "bytes",
        ge=1,
    )
    gpu_memory_utilization: float | None = maybe(
        "The share of the device's memory that may be used. Absent: 0.85.", gt=0, le=1
    )
    context_window_size: int | None = maybe(
        "The longest sequence. Absent: the model's own.", "tokens", ge=1
    )
    sliding_window_size: int | None = maybe(
        "How far back attention reaches; -1 is all the way. Absent: the model's own.",
        "tokens",
        ge=-1,
    )
    attention_sink_size: int | None = measure(
        "How many first tokens stay in reach of a sliding window. Absent: the model's own.",
        "tokens",
    )
    prefill_chunk_size: int | None = maybe(
        "The most tokens of prompts that one step takes in; it takes fewer where that many would "
        "last long. Absent: the model's own, and at most 512 on a CPU for a model without "
        "pictures.",
        "tokens",
        ge=1,
    )
    prefill_mode: PrefillMode | None = maybe(
        "How prompts are taken in beside running answers. Absent: `hybrid`."
    )
    max_queued_requests: int | None = maybe(
        "How many requests may wait for their turn; more are refused with the error `queue_full`. "
        "Absent: 1024.",
        ge=1,
        le=1000000,
    )
    enable_tracing: bool | None = maybe(
        "Whether the engine records what it does for the route `trace`, in Chrome's trace format. "
        "Absent: false."
    )
    embedding_pooling: EmbeddingPooling | None = maybe(
        "Which hidden states make the vectors of the route `embeddings`. Absent: what the model's "
        "mlc-chat-config.json says under the same name, else `mean`."
    )
    openai_last_chunk: bool | None = maybe(
        "Whether the last chunk of a chat's answer has an empty `delta`, as OpenAI's own has. "
        "Absent: false; its `content` is then an empty text, as MLC-LLM's is."
    )
    refuse_unknown_fields: bool | None = maybe(
        "Whether a request with a member that no field has is refused, with its path; for programs "
        "that write their JSON by hand, as in C. Absent: false; such members are ignored."
    )
    max_history_size: int | None = maybe(
        "How many states a recurrent model keeps to roll back to. Absent: 1.", ge=1
    )
    prefix_cache_mode: PrefixCacheMode | None = maybe(
        "Whether what was computed is kept for requests that begin alike. Absent: `radix`."
    )
    prefix_cache_max_num_recycling_seqs: int | None = maybe(
        "How many finished sequences are kept; -1 is as many as the pages hold. Absent: -1.", ge=-1
    )
    prefix_cache_dir: str | None = maybe(
        "A folder in which the prefix cache is kept in files too, so that it is there after a "
        "restart; processes may share it. Its files tell what the prompts were. Without effect for "
        "encoders and with `prefix_cache_mode` `disable`; refused in browsers. Absent: none."
    )
    prefix_cache_ram_bytes: int | None = maybe(
        "Of a GPU's engine, the most of the host's memory that keeps what the prefix cache on the "
        "device has to drop, and gives it back when a prompt begins alike; 0 is none. Refused "
        "on CPUs, whose KV cache is in that memory, and in browsers. Absent: twice the KV cache "
        "and at most a quarter of what the host has free, on devices with a memory of their own; "
        "else 0.",
        "bytes",
        ge=0,
    )
    prefix_cache_dir_bytes: int | None = maybe(
        "The most that these files may take; the ones that were not used for the longest time go "
        "first. Absent: 8 GiB.",
        "bytes",
        ge=1,
    )
    prefix_cache_dir_days: int | None = maybe(
        "After how many days without use a file is removed. Absent: 30.", "days", ge=1, le=36500
    )
    speculative_mode: SpeculativeMode | None = maybe(
        "How tokens are drafted ahead; the answers are the same with and without. Each mode but "
        "`disable` also looks up what followed the last tokens earlier, and drafts what is better. "
        "Absent: on CPUs, by the model's own MTP layer, Eagle layer, Medusa heads or Gemma 4's "
        "assistant, if it has one, texts keep most of their memory, and `mode` is not `server`; "
        "else `disable`."
    )
    additional_models: list[str] | None = maybe(
        "The draft model of `small_draft`, which must have the same vocabulary: `MODEL` or "
        "`MODEL,LIBRARY`."
    )
    mmproj: str | None = maybe(
        "The GGUF file with the tower of a GGUF model, as llama.cpp's `--mmproj`; `none` is the "
        "text alone. For the Python package, which converts such models; refused elsewhere. "
        "Absent: the one beside the model."
    )
    spec_draft_length: int | None = measure(
        "How many tokens are drafted a step; 0 adapts to how many are accepted. It needs a "
        "`speculative_mode`, or a part that drafts without one. Absent: 0.",
        "tokens",
    )
    jump_forward: bool | None = maybe(
        "Whether text that a grammar forces is computed ahead. The answers are the same with and "
        "without. Absent: true."
    )
    spec_tree_width: int | None = maybe(
        "Over 1, drafts form a tree that is verified in one step: at most so many at each depth, "
        "`spec_draft_length` deep, 63 in all. The answers are the same. Over 1 it needs a "
        "`speculative_mode`, or a part that drafts without one. Absent: 1.",
        ge=1,
        le=16,
    )
    tensor_parallel_shards: int | None = maybe(
        "Among how many shards each layer is divided: groups of CPU threads, or GPUs. Absent: the "
        "model's own.",
        ge=1,
    )
    pipeline_parallel_stages: int | None = maybe(
        "Over how many groups of devices the layers are spread. Absent: the model's own.", ge=1
    )
    lora_ranks: int | None = maybe(
        "Room for the adapters that requests choose, in ranks: four adapters of rank 16 take 64. A "
        "library that is given must be compiled with `--lora`. Absent: 0, which is no "
        "room.",
        ge=0,
        le=65536,
    )
    lora_bytes: int | None = maybe(
        "The most memory that this room may take; an engine whose `lora_ranks` take more is "
        "refused, and the error says how many fit. Absent: what the ranks take.",
        "bytes",
        ge=1,
    )
    max_loras: int | None = maybe(
        "How many adapters may be loaded at the same time. Absent: as many as the ranks hold.",
        ge=1,
        le=65536,
    )
    num_threads: int | None = maybe(
        "Worker threads on the CPU. Absent: the physical cores that are free.", ge=1, le=1024
    )
