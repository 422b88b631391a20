"""Random models of real shapes as GGUF files, for speed and memory: their answers mean nothing.
Each is written once, always with the same bytes. All matrices have one type, or those of a mix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import dequantize

from cpu_parts.environment import ROOT

# Where a block's float16 scale is, and where that of its minimums is, with what they have to be so
# that random codes are 0 on average.
_HALVES: dict[str, dict[int, float]] = {
    "Q4_0": {0: 1}, "Q4_1": {0: 1, 2: -7.5}, "Q5_0": {0: 1}, "Q5_1": {0: 1, 2: -15.5},
    "Q8_0": {0: 1}, "Q2_K": {80: 1, 82: 1.5}, "Q3_K": {108: 1}, "Q4_K": {0: 1, 2: 7.5},
    "Q5_K": {0: 1, 2: 15.5}, "Q6_K": {208: 1},
}  # fmt: skip
MIXES = {"Q4_K_M": ("Q4_K", "Q6_K")}  # most matrices have the first type
KINDS = (*_HALVES, *MIXES)
_TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
_PIECE = 1 << 26  # random bytes at a time


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of a Llama, of a Mixtral if it has experts, of a GLM-4.5 without experts if it has an
    MTP layer, or of a Gemma 3 if it has a window, which five of six layers have."""

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
    mtp: bool = False
    window: int = 0

    @property
    def architecture(self) -> str:
        return "gemma3" if self.window else "glm4moe" if self.mtp else "llama"

    @property
    def blocks(self) -> int:
        return self.layers + self.mtp


SHAPES = {
    # Llama 3.2 1B's
    "1B": Shape(hidden=2048, wide=8192, layers=16, heads=32, kv_heads=8, dim=64, vocabulary=128256,
                theta=500000.0, tied=True),
    "1B-MTP": Shape(hidden=2048, wide=8192, layers=16, heads=32, kv_heads=8, dim=64,
                    vocabulary=128256, theta=500000.0, tied=True, mtp=True),
    # 7.1 thousand millions of weights, of which a token needs 2.1
    "MoE": Shape(hidden=2048, wide=5632, layers=24, heads=16, kv_heads=8, dim=128,
                 vocabulary=32000, experts=8, chosen=2),
    # SmolLM2 135M's, with 512 inputs in place of 576, which are no whole blocks of 256
    "SmolLM2": Shape(hidden=512, wide=1536, layers=30, heads=8, kv_heads=4, dim=64,
                     vocabulary=49152, tied=True),
    "Gemma3-270M": Shape(hidden=640, wide=2048, layers=18, heads=4, kv_heads=1, dim=256,
                         vocabulary=262144, theta=1000000.0, tied=True, window=512),
    "tiny": Shape(hidden=256, wide=512, layers=2, heads=4, kv_heads=2, dim=64, vocabulary=4096,
                  tied=True),
    "tiny-MTP": Shape(hidden=256, wide=512, layers=2, heads=4, kv_heads=2, dim=64, vocabulary=4096,
                      tied=True, mtp=True),
    "tiny-MoE": Shape(hidden=256, wide=512, layers=2, heads=4, kv_heads=2, dim=64, vocabulary=4096,
                      experts=8, chosen=2),
}  # fmt: skip


def file_of(name: str) -> Path:
    """A file by its path; or `SHAPE-TYPE`, a random model, which is kept under build/."""
    shape, _, kind = name.rpartition("-")
    if shape in SHAPES and kind in KINDS:
        return write(ROOT / "build" / "shapes" / f"{name}.gguf", SHAPES[shape], kind)
    return Path(name).resolve()


def write(path: Path, shape: Shape, kind: str = "Q4_0") -> Path:
    """The file; it stays if it is there."""
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    writer = gguf.GGUFWriter(partial, shape.architecture)
    _add_sizes(writer, shape)
    types = gguf.LlamaFileType.__members__
    writer.add_file_type(types.get(f"MOSTLY_{kind}") or types[f"MOSTLY_{kind}_M"])
    add_tokenizer(writer, shape.vocabulary)
    tensors = dict(_tensors(shape))
    for name, size in tensors.items():
        if len(size) == 1:
            writer.add_tensor_info(name, size, np.dtype(np.float32), 4 * size[0])
            continue
        own = _kind_of(name, shape, kind)
        block, octets = _block(own)
        stored = (*size[:-1], size[-1] // block * octets)
        bytes_ = int(np.prod(stored, dtype=np.int64))
        raw = gguf.GGMLQuantizationType[own]
        writer.add_tensor_info(name, stored, np.dtype(np.uint8), bytes_, raw_dtype=raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    rng = np.random.default_rng(17)
    for name, size in tensors.items():
        if len(size) == 1:
            writer.write_tensor_data(np.ones(size, np.float32))
        else:
            writer.write_tensor_data(_blocks(rng, size, _kind_of(name, shape, kind)))
    writer.close()
    partial.rename(path)
    return path


def bytes_per_token(shape: Shape, kind: str = "Q4_0") -> int:
    """What a decode step of one sequence reads of the weights."""
    sizes = {}
    for name, size in _tensors(shape):
        block, octets = _block(_kind_of(name, shape, kind))
        count = int(np.prod(size, dtype=np.int64))
        sizes[name] = 4 * count if len(size) == 1 else count // block * octets
    return of_a_token(sizes, shape.experts, shape.chosen)


def of_a_token(sizes: Mapping[str, int], experts: int, chosen: int) -> int:
    """Which part of the sizes of a file's tensors belongs to a token: the chosen experts, and of
    the embedding one row, unless it is the head too."""
    total = 0
    for name, size in sizes.items():
        if name == "token_embd.weight" and "output.weight" in sizes:
            continue
        total += size // experts * chosen if "_exps" in name else size
    return total


def _add_sizes(writer: gguf.GGUFWriter, s: Shape) -> None:
    writer.add_block_count(s.blocks)
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
    if s.window:
        writer.add_sliding_window(s.window)
    if s.experts:
        writer.add_expert_count(s.experts)
        writer.add_expert_used_count(s.chosen)
    if s.mtp:  # all layers are before those with experts
        writer.add_nextn_predict_layers(1)
        writer.add_leading_dense_block_count(s.blocks)
        writer.add_expert_count(1)
        writer.add_expert_used_count(1)
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)


def add_tokenizer(writer: gguf.GGUFWriter, count: int) -> None:
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
    if s.mtp:
        for norm in ("enorm", "hnorm", "shared_head_norm"):
            yield f"blk.{s.layers}.nextn.{norm}.weight", (s.hidden,)
        yield f"blk.{s.layers}.nextn.eh_proj.weight", (s.hidden, 2 * s.hidden)
    for i in range(s.blocks):
        yield f"blk.{i}.attn_norm.weight", (s.hidden,)
        yield f"blk.{i}.attn_q.weight", (queries, s.hidden)
        yield f"blk.{i}.attn_k.weight", (keys, s.hidden)
        yield f"blk.{i}.attn_v.weight", (keys, s.hidden)
        yield f"blk.{i}.attn_output.weight", (s.hidden, queries)
        if s.window:
            yield f"blk.{i}.attn_q_norm.weight", (s.dim,)
            yield f"blk.{i}.attn_k_norm.weight", (s.dim,)
            yield f"blk.{i}.post_attention_norm.weight", (s.hidden,)
            yield f"blk.{i}.post_ffw_norm.weight", (s.hidden,)
        yield f"blk.{i}.{'post_attention' if s.mtp else 'ffn'}_norm.weight", (s.hidden,)
        if s.experts:
            yield f"blk.{i}.ffn_gate_inp.weight", (s.experts, s.hidden)
        yield f"blk.{i}.ffn_gate{suffix}.weight", (*several, s.wide, s.hidden)
        yield f"blk.{i}.ffn_up{suffix}.weight", (*several, s.wide, s.hidden)
        yield f"blk.{i}.ffn_down{suffix}.weight", (*several, s.hidden, s.wide)


def _kind_of(name: str, shape: Shape, kind: str) -> str:
    """The type of a matrix. llama.cpp's `Q4_K_M` has more bits for the head, and for the values and
    the last matrix of half of the layers (`llama-quant.cpp`: `use_more_bits`)."""
    if kind not in MIXES:
        return kind
    usual, larger = MIXES[kind]
    if name == ("token_embd.weight" if shape.tied else "output.weight"):
        return larger
    if not any(part in name for part in (".attn_v.", ".ffn_down")):
        return usual
    layer, eighth = int(name.split(".")[1]), shape.layers // 8
    is_at_an_end = layer < eighth or layer >= 7 * shape.layers // 8
    return larger if is_at_an_end or (layer - eighth) % 3 == 2 else usual


def _block(kind: str) -> tuple[int, int]:
    """The weights and the bytes of a block."""
    found: tuple[int, int] = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
    return found


def _blocks(rng: np.random.Generator, size: tuple[int, ...], kind: str) -> np.ndarray:
    """Random blocks whose rows keep the size of what they multiply."""
    block, octets = _block(kind)
    made = np.empty((int(np.prod(size, dtype=np.int64)) // block, octets), np.uint8)
    piece = _PIECE // octets
    for first in range(0, len(made), piece):
        part = made[first : first + piece]
        part[:] = np.frombuffer(rng.bytes(part.size), np.uint8).reshape(part.shape)
    sample = made[:64].copy()
    _set_scales(sample, kind, 1)
    spread = float(dequantize(sample, gguf.GGMLQuantizationType[kind]).std())
    _set_scales(made, kind, 1 / (spread * size[-1] ** 0.5))
    return made.reshape(*size[:-1], -1)


def _set_scales(blocks: np.ndarray, kind: str, scale: float) -> None:
    for place, share in _HALVES[kind].items():
        blocks[:, place : place + 2] = np.array([scale * share], np.float16).view(np.uint8)
