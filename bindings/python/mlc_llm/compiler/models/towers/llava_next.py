"""LLaVA 1.6: the tower of LLaVA 1.5 on the whole picture and on tiles of it. The rows of the tiles
are lines of one grid without the rows of padding, and a learned row ends each line.

(Facts: transformers' `modeling_llava_next.py`, `image_processing_llava_next.py`; llama.cpp's
`convert_image_encoder_to_gguf.py`.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mlc_llm.compiler.models.config_reader import ConfigReader
from mlc_llm.compiler.models.family import GGUFFields
from mlc_llm.compiler.models.towers import llava
from mlc_llm.compiler.models.towers.family import (
    CLIP_MEAN,
    CLIP_STD,
    TowerFamily,
    TowerInGGUF,
    edge,
    patches,
    pixels,
)
from mlc_llm.compiler.spec.tower import Learned, TowerSpec
from mlc_llm.errors import CorruptFileError, UnsupportedError

_GRIDS = "image_grid_pinpoints"
_MOST_SIDE = 2**15
_MOST_GRIDS = _MOST_TILES = 256  # the core's limits


def spec(whole: ConfigReader, vision: ConfigReader, text_width: int) -> TowerSpec:
    found = llava.spec(whole, vision, text_width)
    newline = Learned((("image_newline", (text_width,)),))
    return replace(found, projector=(*found.projector, newline))


def pictures(processor: ConfigReader, spec: TowerSpec, whole: ConfigReader) -> dict[str, Any]:
    tile = spec.columns * spec.patch_size
    processor.always("do_pad", True)
    for name, inner in (
        ("size", "shortest_edge"),
        ("crop_size", "height"),
        ("crop_size", "width"),
    ):
        if edge(processor, name, inner, tile) != tile:
            raise UnsupportedError(
                f"{processor.source}: {name} is not {tile}, which image_size of vision_config is",
                param=name,
            )
    return {
        "layout": "any_resolution",
        "tile": tile,
        "grids": _grids(processor, whole, tile),
        **pixels(processor, "bicubic", CLIP_MEAN, CLIP_STD),
        **patches(spec),
        "marker": "<image>",
    }


def _grids(processor: ConfigReader, whole: ConfigReader, tile: int) -> list[list[int]]:
    """[[height, width], ...]"""
    usual = [[1, 2], [2, 1], [2, 2], [3, 1], [1, 3]]
    found = processor.config.get(_GRIDS) or whole.config.get(_GRIDS)
    if found is None:
        return [[tile * rows, tile * columns] for rows, columns in usual]
    is_list = isinstance(found, list) and 0 < len(found) <= _MOST_GRIDS
    if not (is_list and all(_is_grid(one, tile) for one in found)):
        raise CorruptFileError(
            f"{processor.source}: {_GRIDS} must be a list of at most {_MOST_GRIDS} [height, width]"
            f", multiples of {tile} and of at most {_MOST_TILES} tiles",
            param=_GRIDS,
        )
    return found


def _is_grid(one: Any, tile: int) -> bool:
    return (
        isinstance(one, list)
        and len(one) == 2
        and all(type(side) is int and 0 < side <= _MOST_SIDE and not side % tile for side in one)
        and one[0] * one[1] <= _MOST_TILES * tile**2
    )


def _config_in_gguf(fields: GGUFFields, text: GGUFFields) -> dict[str, Any]:
    """The pairs of the repository, one behind the other."""
    key = f"vision.{_GRIDS}"
    if key not in fields:
        return {"vision_feature_layer": -1}
    flat = fields.raw(key)
    if not isinstance(flat, list) or len(flat) % 2:
        raise CorruptFileError(f"clip.{key} must be a list of heights and widths", param=key)
    pairs = [list(pair) for pair in zip(flat[::2], flat[1::2], strict=True)]
    return {"vision_feature_layer": -1, _GRIDS: pairs}


def _tensors_in_gguf(fields: GGUFFields) -> dict[str, str]:
    """Files of before 2026 have the end of a line under its name in the repository."""
    newer = "v.image_newline"
    newline = newer if fields.has_tensor(newer) else "model.image_newline"
    return {**llava.GGUF.tensors(fields), "image_newline": newline}


FAMILY = TowerFamily(
    llava.FAMILY.kinds,
    (*llava.FAMILY.fields, _GRIDS),
    spec,
    pictures,
    TowerInGGUF(
        kind="mlp spatial_unpad",
        texts=llava.GGUF.texts,
        token=llava.GGUF.token,
        config=_config_in_gguf,
        tensors=_tensors_in_gguf,
    ),
)
