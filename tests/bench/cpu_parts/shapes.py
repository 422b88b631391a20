"""Random models of real shapes as GGUF files of Q4_0, for speed and memory: their answers mean
nothing. Each is written once, always with the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np

_BLOCK, _BLOCK_BYTES = 32, 18  # of Q4_0: weights, bytes
_SPREAD = 4.6  # standard deviation of a code from 0 to 15
_TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
_PIECE = 1 << 26  # random bytes at a time


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of a Llama, or of a Mixtral if it has experts."""

    hidden: int
    wide: int
    layers: int
    heads: int
    kv_heads: int
    dim: int
    vocabulary: int
    theta: float = 10000.0
    experts: int = 0
    chosen: int = 0
    tied: bool = False


SHAPES = {
    # Llama 3.2 1B's
    "1B": Shape(hidden=2048, wide=8192, layers=16, heads=32, kv_heads=8, dim=64, vocabulary=128256,
                theta=500000.0, tied=True),
    # 7.1 thousand millions of weights, of which a token needs 2.1
    "MoE": Shape(hidden=2048, wide=5632, layers=24, heads=16, kv_heads=8, dim=128,
                 vocabulary=32000, experts=8, chosen=2),
    "tiny": Shape(hidden=256, wide=512, layers=2, heads=4, kv_heads=2, dim=64, vocabulary=4096,
                  tied=True),
    "tiny-MoE": Shape(hidden=256, wide=512, layers=2, heads=4, kv_heads=2, dim=64, vocabulary=4096,
                      experts=8, chosen=2),
}  # fmt: skip


def write(path: Path, shape: Shape) -> Path:
    """The file; it stays if it is there."""
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    writer = gguf.GGUFWriter(partial, "llama")
    _add_sizes(writer, shape)
    _add_tokenizer(writer, shape.vocabulary)
    tensors = dict(_tensors(shape))
    for name, size in tensors.items():
        if len(size) == 1:
            writer.add_tensor_info(name, size, np.dtype(np.float32), 4 * size[0])
            continue
        stored = (*size[:-1], size[-1] // _BLOCK * _BLOCK_BYTES)
        kind = gguf.GGMLQuantizationType.Q4_0
        bytes_ = int(np.prod(stored, dtype=np.int64))
        writer.add_tensor_info(name, stored, np.dtype(np.uint8), bytes_, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    rng = np.random.default_rng(17)
    for size in tensors.values():
        writer.write_tensor_data(np.ones(size, np.float32) if len(size) == 1 else _q4_0(rng, size))
    writer.close()
    partial.rename(path)
    return path


def bytes_per_token(shape: Shape) -> int:
    """What a decode step of one sequence reads of the weights: the chosen experts, and of the
    embedding one row, unless it is the head too."""
    total = 0
    for name, size in _tensors(shape):
        count = int(np.prod(size, dtype=np.int64))
        if name == "token_embd.weight" and not shape.tied:
            continue
        if "_exps" in name:
            count = count // shape.experts * shape.chosen
        total += 4 * count if len(size) == 1 else count // _BLOCK * _BLOCK_BYTES
    return total


def _add_sizes(writer: gguf.GGUFWriter, s: Shape) -> None:
    writer.add_block_count(s.layers)
    writer.add_context_length(32768)
    writer.add_embedding_length(s.hidden)
    writer.add_feed_forward_length(s.wide)
    writer.add_head_count(s.heads)
    writer.add_head_count_kv(s.kv_heads)
    writer.add_key_length(s.dim)
    writer.add_value_length(s.dim)
    writer.add_rope_dimension_count(s.dim)
    writer.add_rope_freq_base(s.theta)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(s.vocabulary)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    if s.experts:
        writer.add_expert_count(s.experts)
        writer.add_expert_used_count(s.chosen)


def _add_tokenizer(writer: gguf.GGUFWriter, count: int) -> None:
    """Bytes, and words that no text has."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in visible]
    letters = {byte: chr(byte) for byte in visible}
    letters |= {byte: chr(256 + i) for i, byte in enumerate(others)}
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokens = [*special, *(letters[byte] for byte in range(256)), "th"]
    tokens += [f"<word {i}>" for i in range(count - len(tokens))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(special) + [1] * (count - len(special)))
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(_TEMPLATE)


def _tensors(s: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The names and shapes."""
    queries, keys, several = s.heads * s.dim, s.kv_heads * s.dim, (s.experts,) * bool(s.experts)
    suffix = "_exps" if s.experts else ""
    yield "token_embd.weight", (s.vocabulary, s.hidden)
    yield "output_norm.weight", (s.hidden,)
    if not s.tied:
        yield "output.weight", (s.vocabulary, s.hidden)
    for i in range(s.layers):
        yield f"blk.{i}.attn_norm.weight", (s.hidden,)
        yield f"blk.{i}.attn_q.weight", (queries, s.hidden)
        yield f"blk.{i}.attn_k.weight", (keys, s.hidden)
        yield f"blk.{i}.attn_v.weight", (keys, s.hidden)
        yield f"blk.{i}.attn_output.weight", (s.hidden, queries)
        yield f"blk.{i}.ffn_norm.weight", (s.hidden,)
        if s.experts:
            yield f"blk.{i}.ffn_gate_inp.weight", (s.experts, s.hidden)
        yield f"blk.{i}.ffn_gate{suffix}.weight", (*several, s.wide, s.hidden)
        yield f"blk.{i}.ffn_up{suffix}.weight", (*several, s.wide, s.hidden)
        yield f"blk.{i}.ffn_down{suffix}.weight", (*several, s.hidden, s.wide)


def _q4_0(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """Random blocks whose rows keep the size of what they multiply."""
    count = int(np.prod(size, dtype=np.int64)) // _BLOCK * _BLOCK_BYTES
    made = np.empty(count, np.uint8)
    for first in range(0, count, _PIECE):
        part = made[first : first + _PIECE]
        part[:] = np.frombuffer(rng.bytes(len(part)), np.uint8)
    scale = np.array([1 / (_SPREAD * size[-1] ** 0.5)], np.float16).view(np.uint8)
    made.reshape(-1, _BLOCK_BYTES)[:, :2] = scale
    return made.reshape(*size[:-1], -1)
