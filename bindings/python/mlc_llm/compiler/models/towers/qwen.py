"""Qwen 2-VL, 2.5-VL, 3-VL and 3.5: a ViT on a picture in its own shape, 2 x 2 patches a row.

(Facts: transformers' `modeling_qwen2_vl.py`, `modeling_qwen2_5_vl.py`, `modeling_qwen3_vl.py`,
`modeling_qwen3_5.py`, `image_processing_qwen2_vl.py`.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mlc_llm.compiler.models.config_reader import ConfigReader
from mlc_llm.compiler.models.family import GGUFFields
from mlc_llm.compiler.models.towers.family import (
    ACTIVATIONS,
    CLIP_MEAN,
    CLIP_STD,
    TowerFamily,
    TowerInGGUF,
    edge,
    patches,
    pixels,
)
from mlc_llm.compiler.spec import NormSpec
from mlc_llm.compiler.spec.part import PictureRows
from mlc_llm.compiler.spec.tower import (
    SIGLIP,
    Dense,
    Joined,
    Normed,
    PatchWindows,
    ProjectorPart,
    Tap,
    TowerSpec,
    same_for_both,
)
from mlc_llm.errors import CorruptFileError

_EPS = 1e-6  # of all norms; no config has it
# Of the largest picture. Files allow 16,384 rows, whose attention alone is hundreds of TFLOP. This
# is the default of transformers' class for Qwen 2-VL (docs/models.md says what that changes).
_MOST_ROWS = 1280
_SECTIONS, _INTERLEAVED = "mrope_section", "mrope_interleaved"
_NAMES = {
    **SIGLIP,
    "patch": "patch_embed.proj",
    "positions": "pos_embed",
    "layer": "blocks.{}.",
    "attention_norm": "norm1",
    "qkv": "attn.qkv",
    "output": "attn.proj",
    "mlp_norm": "norm2",
    "norm": "merger.ln_q",
}
_NAMES_2_5 = {**_NAMES, "down": "mlp.down_proj"}
_NAMES_3 = {**_NAMES, "up": "mlp.linear_fc1", "down": "mlp.linear_fc2", "norm": "merger.norm"}
_FIELDS = ("vision_config", "image_token_id")
_TOKEN = "<|image_pad|>"
_TEXTS_3 = ("qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe")  # in GGUF files


def _shared(vision: ConfigReader, usual: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """The fields of a `TowerSpec` that all of them have. `changes`: the config's names of fields,
    where they are others."""

    def size(name: str, maximum: int = 2**16) -> int:
        return vision.integer(*changes.get(name, (name,)), default=usual[name], maximum=maximum)

    width, heads = size("hidden_size"), size("num_heads")
    if width % heads or width // heads % 4:
        raise CorruptFileError(
            "config: hidden_size of vision_config must be a multiple of 4 * num_heads",
            param="num_heads",
        )
    merge = vision.integer("spatial_merge_size", default=2, maximum=16)
    rope = ConfigReader(vision.mapping("rope_parameters") or {})
    theta = rope.number("rope_theta", default=10000.0)
    return {
        "layers": size("depth", 1024),
        "width": width,
        "heads": heads,
        "channels": vision.integer("in_channels", "in_chans", default=3, maximum=3, minimum=3),
        "frames": vision.integer("temporal_patch_size", default=2, maximum=16),
        "patch_size": size("patch_size", 256),
        "largest_view": _MOST_ROWS * merge**2,
        "merge": merge,
        "rope": same_for_both(width // heads, theta),
        "activation": vision.choice("hidden_act", of=ACTIVATIONS, default=usual["hidden_act"]),
    }


def _merger(name: str, width: int, merge: int, text_width: int, *norm: Normed) -> Any:
    """The 2 x 2 neighbours side by side, and two linear layers. `name`: with their two places."""
    joined = merge**2 * width
    first, second = (name.format(*pair) for pair in ((1, 0), (2, 2)))
    return (
        Joined(),
        *norm,
        Dense(first, joined, bias=True, activation="gelu"),
        Dense(second, text_width, bias=True),
    )


def _rows(whole: ConfigReader, usual: list[int], is_interleaved: bool, levels: int = 0) -> Any:
    """M-RoPE of the text. The sections: how many pairs turn by time, height and width."""
    found = whole.config.get(_SECTIONS) or usual
    is_list = isinstance(found, list) and len(found) == 3
    if not (is_list and all(type(n) is int and 0 <= n <= 1024 for n in found) and sum(found)):
        raise CorruptFileError(f"config: {_SECTIONS} must be three counts", param=_SECTIONS)
    axes = [axis for axis in range(3) for _ in range(found[axis])]
    if whole.flag(_INTERLEAVED, default=is_interleaved):
        axes = [i % 3 if i < 3 * found[i % 3] else 0 for i in range(len(axes))]
    return PictureRows(axes=tuple(axes), levels=levels)


def _spec_2(whole: ConfigReader, vision: ConfigReader, text_width: int) -> TowerSpec:
    usual = {"hidden_size": 1280, "num_heads": 16, "depth": 32, "patch_size": 14}
    # in their files `hidden_size` is that of the text
    fields = _shared(vision, usual | {"hidden_act": "quick_gelu"}, hidden_size=("embed_dim",))
    ratio = vision.number("mlp_ratio", default=4.0)
    return TowerSpec(
        **fields,
        ff=round(fields["width"] * ratio),
        norm=NormSpec(eps=_EPS, kind="layer", bias=True),
        patch_bias=False,
        projector=_merger("merger.mlp.{1}", fields["width"], fields["merge"], text_width),
        prefix="visual.",
        projector_prefix="visual.",
        rows=_rows(whole, [16, 24, 24], is_interleaved=False),
        names=_NAMES,
    )


def _spec_2_5(whole: ConfigReader, vision: ConfigReader, text_width: int) -> TowerSpec:
    usual = {"hidden_size": 3584, "num_heads": 16, "depth": 32, "patch_size": 14}
    fields = _shared(vision, usual | {"hidden_act": "silu"})
    _check_width(vision, text_width)
    merge, patch = fields["merge"], fields["patch_size"]
    window = vision.integer("window_size", default=112) // merge // patch * merge
    if not window:
        raise CorruptFileError(
            "config: window_size of vision_config is smaller than a block of patches",
            param="window_size",
        )
    whole_layers = vision.layers("fullatt_block_indexes", fields["layers"], (7, 15, 23, 31))
    return TowerSpec(
        **fields,
        ff=vision.integer("intermediate_size", default=3420),
        gated=True,
        windows=PatchWindows(window, whole_layers),
        norm=NormSpec(eps=_EPS),
        patch_bias=False,
        projector=_merger("merger.mlp.{1}", fields["width"], merge, text_width),
        prefix="visual.",
        projector_prefix="visual.",
        rows=_rows(whole, [16, 24, 24], is_interleaved=False),
        names=_NAMES_2_5,
    )


def _spec_3(
    sections: list[int], taps: tuple[int, ...] | None,
    whole: ConfigReader, vision: ConfigReader, text_width: int,
) -> TowerSpec:  # fmt: skip
    usual = {"hidden_size": 1152, "num_heads": 16, "depth": 27, "patch_size": 16}
    fields = _shared(vision, usual | {"hidden_act": "gelu_pytorch_tanh"})
    _check_width(vision, text_width)
    width, merge = fields["width"], fields["merge"]
    entries = vision.integer("num_position_embeddings", default=2304, maximum=2**20)
    if math.isqrt(entries) ** 2 != entries:
        raise CorruptFileError(
            f"config: num_position_embeddings {entries} is no square",
            param="num_position_embeddings",
        )
    name, norm = "deepstack_visual_indexes", NormSpec(eps=_EPS, kind="layer", bias=True)
    layers = () if taps is None else vision.layers(name, fields["layers"], taps)
    if list(layers) != sorted(set(layers)):
        raise CorruptFileError(f"config: {name} must ascend", param=name)

    def deepstack(index: int) -> tuple[ProjectorPart, ...]:
        at = f"deepstack_merger_list.{index}."
        own = Normed(f"{at}norm", norm)
        made: tuple[ProjectorPart, ...] = _merger(
            at + "linear_fc{0}", width, merge, text_width, own
        )
        return made

    return TowerSpec(
        **fields,
        ff=vision.integer("intermediate_size", default=4304),
        positions=entries,
        columns=math.isqrt(entries),
        table="corners",
        norm=norm,
        projector=_merger("merger.linear_fc{0}", width, merge, text_width),
        taps=tuple(Tap(layer, deepstack(index)) for index, layer in enumerate(layers)),
        prefix="model.visual.",
        projector_prefix="model.visual.",
        rows=_rows(whole, sections, is_interleaved=True, levels=len(layers)),
        names=_NAMES_3,
    )


def _check_width(vision: ConfigReader, text_width: int) -> None:
    out = vision.integer("out_hidden_size", default=3584)
    if out != text_width:
        raise CorruptFileError(
            f"config: out_hidden_size of vision_config is {out}, and the text model reads rows of "
            f"{text_width} numbers",
            param="out_hidden_size",
        )


def _pictures(
    colours: tuple[Any, Any], usual: tuple[int, int],
    processor: ConfigReader, spec: TowerSpec, whole: ConfigReader,
) -> dict[str, Any]:  # fmt: skip
    """The template writes `marker`, and what stands around it. `usual`: the least and the most
    pixels."""
    most = _MOST_ROWS * (spec.patch_size * spec.merge) ** 2
    least, largest = (
        processor.integer(
            name, default=edge(processor, "size", inner, number, 2**31 - 1), maximum=2**31 - 1
        )
        for name, inner, number in (
            ("min_pixels", "shortest_edge", usual[0]),
            ("max_pixels", "longest_edge", usual[1]),
        )
    )
    largest = min(largest, most)
    return {
        "layout": "multiples",
        "min_pixels": min(least, largest),
        "max_pixels": largest,
        **pixels(processor, "bicubic", *colours),
        **patches(spec),
        "columns": 0,
        "rotary": True,
        "marker": _TOKEN,
    }


def _rotation(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the text's config says of three-axis positions, which its own reader leaves out."""
    text = config.get("text_config")
    text = text if isinstance(text, Mapping) else config
    found: dict[str, Any] = {}
    for name in ("rope_scaling", "rope_parameters"):
        rope = text.get(name)
        rope = rope if isinstance(rope, Mapping) else {}
        found |= {key: rope[key] for key in (_SECTIONS, _INTERLEAVED) if rope.get(key) is not None}
    return found


def _config_2_in_gguf(fields: GGUFFields, text: GGUFFields) -> dict[str, Any]:
    """`feed_forward_length` is not the tower's."""
    width = fields.size("vision.embedding_length")
    names = [f"v.blk.0.{name}.weight" for name in ("ffn_up", "ffn_down")]  # or exchanged
    ratio = max(fields.rows(name) for name in names) / width
    return _config_in_gguf(fields, text, {"embed_dim": width, "mlp_ratio": ratio})


def _config_2_5_in_gguf(fields: GGUFFields, text: GGUFFields) -> dict[str, Any]:
    every, count = fields.size("vision.n_wa_pattern"), fields.layers("vision.block_count")
    own = {
        "window_size": fields.size("vision.window_size", 112),
        "fullatt_block_indexes": list(range(every - 1, count, every)),
    }
    return _config_in_gguf(fields, text, own)


def _config_3_in_gguf(fields: GGUFFields, text: GGUFFields) -> dict[str, Any]:
    """For Qwen 3-VL, and for 3.5, whose towers have no taps."""
    side = fields.size("vision.image_size") // fields.size("vision.patch_size")
    taps, key = _taps_in_gguf(fields), "n_deepstack_layers"
    if key in text and text.raw(key) != len(taps):
        raise CorruptFileError(
            f"the tower's file has vectors for {len(taps)} layers of the text, whose own file says "
            f"{text.raw(key)!r:.20}; take both files from one place",
            param="clip.vision.is_deepstack_layers",
        )
    own = {"num_position_embeddings": side**2, "deepstack_visual_indexes": taps}
    return _config_in_gguf(fields, text, own)


def _config_in_gguf(fields: GGUFFields, text: GGUFFields, own: Mapping[str, Any]) -> dict[str, Any]:
    key = "rope.dimension_sections"
    sections = text.raw(key) if key in text else None
    sections = sections[:3] if isinstance(sections, list) else sections
    vision = {
        "depth": fields.size("vision.block_count"),
        "num_heads": fields.size("vision.attention.head_count"),
        "out_hidden_size": fields.size("vision.projection_dim"),
        "spatial_merge_size": fields.size("vision.spatial_merge_size", 2),
        **own,
    }
    return {"vision_config": vision, **({_SECTIONS: sections} if sections is not None else {})}


def _taps_in_gguf(fields: GGUFFields) -> list[int]:
    key = "vision.is_deepstack_layers"
    flags = fields.raw(key) if key in fields else []
    return [i for i, flag in enumerate(flags) if flag] if isinstance(flags, list) else []


def _deepstack_in_gguf(fields: GGUFFields) -> dict[str, str]:
    """The file numbers what reads a layer by that layer."""
    names = {"merger.linear_fc1": "mm.0", "merger.linear_fc2": "mm.2", "merger.norm": "v.post_ln"}
    for index, layer in enumerate(_taps_in_gguf(fields)):
        for ours, theirs in (("norm", "norm"), ("linear_fc1", "fc1"), ("linear_fc2", "fc2")):
            names[f"deepstack_merger_list.{index}.{ours}"] = f"v.deepstack.{layer}.{theirs}"
    return names


def _pixels_in_gguf(fields: GGUFFields) -> dict[str, Any]:
    keys = {"min_pixels": "vision.image_min_pixels", "max_pixels": "vision.image_max_pixels"}
    return {name: fields.size(key) for name, key in keys.items() if key in fields}


def _gguf(kind: str, texts: tuple[str, ...], config: Any, tensors: Any) -> TowerInGGUF:
    return TowerInGGUF(kind, texts, _TOKEN, config, _pixels_in_gguf, tensors)


def _merger_2_in_gguf(fields: GGUFFields) -> dict[str, str]:
    return {"merger.mlp.0": "mm.0", "merger.mlp.2": "mm.2"}


def _family(
    kinds: tuple[str, ...], spec: Callable[..., TowerSpec], colours: Any, usual: tuple[int, int],
    gguf: TowerInGGUF | None = None,
) -> TowerFamily:  # fmt: skip
    pictures = partial(_pictures, colours, usual)
    return TowerFamily(kinds, _FIELDS, spec, pictures, gguf, of_text=_rotation)


_OLD = (CLIP_MEAN, CLIP_STD), (56 * 56, 28 * 28 * 1280)
_NEW = (None, None), (256 * 256, 4096 * 4096)
QWEN2_VL = _family(
    ("qwen2_vl", "qwen2_vl_vision"),
    _spec_2,
    *_OLD,
    _gguf("qwen2vl_merger", ("qwen2vl",), _config_2_in_gguf, _merger_2_in_gguf),
)
QWEN2_5_VL = _family(
    ("qwen2_5_vl", "qwen2_5_vl_vision"),
    _spec_2_5,
    *_OLD,
    _gguf("qwen2.5vl_merger", ("qwen2vl",), _config_2_5_in_gguf, _merger_2_in_gguf),
)
QWEN3_VL = _family(
    ("qwen3_vl", "qwen3_vl_vision"),
    partial(_spec_3, [24, 20, 20], (8, 16, 24)),
    *_NEW,
    _gguf("qwen3vl_merger", _TEXTS_3, _config_3_in_gguf, _deepstack_in_gguf),
)
QWEN3_5 = _family(
    ("qwen3_5", "qwen3_5_vision", "qwen3_5_moe", "qwen3_5_moe_vision"),
    partial(_spec_3, [11, 11, 10], None),
    *_NEW,
)
