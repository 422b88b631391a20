"""Shapes of models; their weights are random."""

from __future__ import annotations

from typing import Any

_LLAMA: dict[str, Any] = {
    "rms_norm_eps": 1e-5,
    "context_window_size": 8192,
    "prefill_chunk_size": 2048,
    "tie_word_embeddings": True,
}

# Hugging Face's names of the sizes: SmolLM2-135M, Llama-3.2-1B, Llama-3.1-8B.
MODELS: dict[str, dict[str, Any]] = {
    "135M": _LLAMA
    | {
        "hidden_size": 576,
        "intermediate_size": 1536,
        "num_hidden_layers": 30,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "head_dim": 64,
        "rope_theta": 100000.0,
        "vocab_size": 49152,
    },
    "1B": _LLAMA
    | {
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "rope_theta": 500000.0,
        "vocab_size": 128256,
    },
    "8B": _LLAMA
    | {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "rope_theta": 500000.0,
        "vocab_size": 128256,
        "tie_word_embeddings": False,
    },
}

# For tests of the benchmark: large enough for every kernel.
SMALL: dict[str, Any] = {
    **MODELS["135M"],
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 300,
}


def chat_config(model: str, quantization: str) -> dict[str, Any]:
    return {"model_type": "llama", "quantization": quantization, "model_config": MODELS[model]}
