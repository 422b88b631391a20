"""LFM2-VL: SigLIP 2 on a picture in its own shape, or on tiles and a thumbnail.

(Facts: transformers' `modeling_lfm2_vl.py`, `modeling_siglip2.py`, `image_processing_lfm2_vl.py`,
`processing_lfm2_vl.py`.)
"""

from __future__ import annotations

from math import isqrt
from typing import Any

from mlc_llm.compiler.models.config_reader import ConfigReader
from mlc_llm.compiler.models.family import GGUFFields
from mlc_llm.compiler.models.towers.family import (
    ACTIVATIONS,
    SIGLIP_USUAL,
    TowerFamily,
    TowerInGGUF,
    patches,
    pixels,
    vit_fields,
)
from mlc_llm.compiler.spec import NormSpec
from mlc_llm.compiler.spec.tower import Dense, Joined, Normed, TowerSpec
from mlc_llm.errors import CorruptFileError, UnsupportedError

_NORM = NormSpec(eps=1e-5, kind="layer", bias=True)  # torch's usual eps
_BEGIN, _END = "<|image_start|>", "<|image_end|>"
_MARKER = "<image>"
_MOST_PIXELS = 2**26  # of any picture that is read
_NO_RATIO = 2**15  # of the sides of a picture: none is too long


def spec(whole: ConfigReader, vision: ConfigReader, text_width: int) -> TowerSpec:
    entries = vision.integer("num_patches", default=256, maximum=2**16)
    if isqrt(entries) ** 2 != entries:
        raise CorruptFileError(
            f"config: num_patches {entries} of vision_config is no square", param="num_patches"
        )
    fields = vit_fields(vision, SIGLIP_USUAL, columns=isqrt(entries))
    fields["layers"] = _layers(whole.config.get("vision_feature_layer", -1), fields["layers"])
    merge = whole.integer("downsample_factor", default=2, maximum=16)
    bias = whole.flag("projector_bias", default=True)
    act = whole.choice("projector_hidden_act", of=ACTIVATIONS, default="gelu")
    inner = whole.integer("projector_hidden_size", default=2560, maximum=2**16)
    has_norm = whole.flag("projector_use_layernorm", default=True)
    return TowerSpec(
        **fields,
        patch_is_linear=True,
        table="resized",
        largest_view=_most_patches(whole, fields["patch_size"], merge),
        merge=merge,
        projector=(
            Joined(),
            *([Normed("layer_norm", _NORM)] if has_norm else []),
            Dense("linear_1", inner, bias=bias, activation=act),
            Dense("linear_2", text_width, bias=bias),
        ),
        prefix="model.vision_tower.vision_model.",
        projector_prefix="model.multi_modal_projector.",
    )


def _layers(chosen: Any, count: int) -> int:
    """-1: all of them run, -2: all but one."""
    if type(chosen) is not int or not -count <= chosen < 0:
        raise UnsupportedError(
            f"config: vision_feature_layer must be a number from {-count} to -1",
            param="vision_feature_layer",
        )
    return count + 1 + chosen


def _most_patches(whole: ConfigReader, side: int, merge: int) -> int:
    """Of a tile, or of a picture that is not cut."""
    tile = whole.integer("tile_size", default=512, maximum=2**13)
    rows = whole.integer("max_image_tokens", default=256, maximum=2**14)
    return max((tile // side) ** 2, rows * merge**2)


def pictures(processor: ConfigReader, spec: TowerSpec, whole: ConfigReader) -> dict[str, Any]:
    """`tile` is what stands before the rows of a tile, `whole` before those of the thumbnail. A
    picture of more than `split_above` pixels is cut, and its thumbnail has the shape that a
    smaller one has: from `min_pixels` to `max_pixels`."""

    def size(name: str, usual: int) -> int:
        return processor.integer(name, default=whole.integer(name, default=usual), maximum=2**15)

    row, patch = (spec.patch_size * spec.merge) ** 2, spec.patch_size**2  # pixels
    tile = size("tile_size", 512)
    if tile**2 > spec.view_patches * patch:
        raise UnsupportedError(
            f"preprocessor_config.json: tile_size {tile} is larger than that of config.json",
            param="tile_size",
        )
    # The library is compiled for what config.json says.
    most = min(size("max_image_tokens", 256) * row, spec.view_patches * patch)
    tolerance = processor.number("max_pixels_tolerance", default=2.0)
    is_told = whole.flag("use_image_special_tokens", default=True)
    words = {
        "begin": _BEGIN,
        "tile": "<|img_row_{row}_col_{column}|>",
        "whole": "<|img_thumbnail|>",
        "end": _END,
    }
    return {
        "layout": "closest_grid",
        "tile": tile,
        "min_tiles": size("min_tiles", 2),
        "max_tiles": size("max_tiles", 10),
        "split": processor.flag("do_image_splitting", default=True),
        "split_above": int(min(most * tolerance, _MOST_PIXELS)),
        "thumbnail": processor.flag("use_thumbnail", default=True),
        "min_pixels": min(size("min_image_tokens", 64) * row, most),
        "max_pixels": most,
        "longest_ratio": _NO_RATIO,
        **pixels(processor, "bilinear"),
        **patches(spec),
        "marker": _MARKER,
        "text": words if is_told else {},
    }


def _config_in_gguf(fields: GGUFFields, text: GGUFFields) -> dict[str, Any]:
    """llama.cpp leaves out the layers that do not run, and writes no sizes of tiles."""
    return {
        "vision_feature_layer": -1,
        "downsample_factor": fields.size("vision.projector.scale_factor"),
        "projector_hidden_size": fields.rows("mm.1.weight"),
        "projector_use_layernorm": fields.has_tensor("mm.input_norm.weight"),
        "vision_config": {"num_patches": fields.rows("v.position_embd.weight")},
    }


GGUF = TowerInGGUF(
    kind="lfm2",
    texts=("lfm2", "lfm2moe"),
    token=_MARKER,
    config=_config_in_gguf,
    tensors=lambda fields: {
        "layer_norm": "mm.input_norm",
        "linear_1": "mm.1",
        "linear_2": "mm.2",
    },
)
FAMILY = TowerFamily(
    ("siglip2_vision_model", "lfm2_vl"),
    (
        "vision_config",
        "downsample_factor",
        "projector_hidden_act",
        "projector_hidden_size",
        "projector_bias",
        "projector_use_layernorm",
        "vision_feature_layer",
        "tile_size",
        "max_image_tokens",
        "min_image_tokens",
        "min_tiles",
        "max_tiles",
        "use_image_special_tokens",
        "image_token_id",
        "image_token_index",
    ),
    spec,
    pictures,
    GGUF,
)
