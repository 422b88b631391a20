"""llama.cpp with and without `--lora` on the shapes of `./dev bench adapters`: GGUF files of 4-bit
weights (Q4_0) and of an adapter, both random."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from cpu_parts import peer

HOME = peer.HOME / "adapters"
CHILD = Path(__file__).with_name("beside_child.py")
_Q4 = gguf.GGMLQuantizationType.Q4_0
_BLOCK, _BLOCK_BYTES = 32, 18
_NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
          "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
          "mlp.down_proj": "ffn_down"}  # fmt: skip

Sizes = Mapping[str, tuple[int, int]]  # of the linear layers: outputs and inputs


def rows(
    shape: str, config: Mapping[str, Any], sizes: Sizes, *, threads: int, rank: int, rounds: int,
    tokens: int, prompts: list[int], batches: list[int],
) -> list[dict[str, Any]]:  # fmt: skip
    """As the benchmark's own; none where llama.cpp cannot be had."""
    python = peer.LLAMA_CPP.install()
    if python is None:
        return []
    HOME.mkdir(parents=True, exist_ok=True)
    base, adapter = HOME / f"{shape}-Q4_0.gguf", HOME / f"{shape}-{rank}.gguf"
    if not adapter.is_file():
        _write(base, lambda writer: _add_base(writer, config, sizes))
        _write(adapter, lambda writer: _add_adapter(writer, config, sizes, rank))
    jobs = [{"prompt": 16, "tokens": tokens, "batch": batch} for batch in batches]
    jobs += [{"prompt": prompt, "tokens": 0, "batch": 1} for prompt in prompts]
    words = [python, CHILD, base, adapter, threads, rounds, json.dumps(jobs)]
    with (HOME / "log.txt").open("w") as log:
        done = subprocess.run(
            [str(word) for word in words],
            check=True, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    return [row | {"way": f"llama.cpp, {row['way']}"} for row in json.loads(done.stdout)]


def _write(path: Path, add: Any) -> None:
    partial = path.with_suffix(".partial")
    writer = gguf.GGUFWriter(partial, "llama")
    add(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    partial.rename(path)


def _add_base(writer: gguf.GGUFWriter, config: Mapping[str, Any], sizes: Sizes) -> None:
    heads, hidden = config["num_attention_heads"], config["hidden_size"]
    writer.add_context_length(config["context_window_size"])
    writer.add_embedding_length(hidden)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config.get("num_key_value_heads", heads))
    writer.add_rope_dimension_count(config.get("head_dim") or hidden // heads)
    writer.add_rope_freq_base(config.get("rope_theta", 1e4))  # it changes no time
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    rng, ones = np.random.default_rng(0), np.ones(hidden, np.float32)

    def add(name: str, outs: int, ins: int) -> None:
        blocks = rng.integers(0, 256, (outs * ins // _BLOCK, _BLOCK_BYTES), np.uint8)
        blocks[:, :2] = np.array([0.005], np.float16).view(np.uint8)
        writer.add_tensor(name, blocks.reshape(outs, -1), raw_dtype=_Q4)

    add("token_embd.weight", config["vocab_size"], hidden)
    writer.add_tensor("output_norm.weight", ones)
    for layer in range(config["num_hidden_layers"]):
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{norm}.weight", ones)
        for name, size in sizes.items():
            add(f"blk.{layer}.{_NAMES[name]}.weight", *size)


def _add_adapter(
    writer: gguf.GGUFWriter, config: Mapping[str, Any], sizes: Sizes, rank: int
) -> None:
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", rank)
    rng = np.random.default_rng(1)
    for layer in range(config["num_hidden_layers"]):
        for name, (outs, ins) in sizes.items():
            place = f"blk.{layer}.{_NAMES[name]}.weight"
            for kind, shape in (("a", (rank, ins)), ("b", (outs, rank))):
                values = 0.01 * rng.standard_normal(shape, np.float32)
                writer.add_tensor(f"{place}.lora_{kind}", values.astype(np.float16))
