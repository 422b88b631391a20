"""MiniCPM-V 2.6: SigLIP on the whole picture and on slices of it, each in the shape of the picture;
64 learned queries look at each of them and become its rows.

(Facts: the authors' `modeling_minicpmv.py`, `resampler.py`, `image_processing_minicpmv.py`,
`processing_minicpmv.py`; mlx-vlm's `models/minicpmo`, which has the same tower; llama.cpp's
`minicpmv-convert-image-encoder-to-gguf.py` and `clip.cpp`.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mlc_llm.compiler.models.config_reader import ConfigReader
from mlc_llm.compiler.models.family import GGUFFields
from mlc_llm.compiler.models.towers.family import (
    SIGLIP_USUAL,
    TowerFamily,
    TowerInGGUF,
    patches,
    pixels,
    vit_fields,
)
from mlc_llm.compiler.spec import NormSpec
from mlc_llm.compiler.spec.tower import Dense, Normed, Resampled, TowerSpec
from mlc_llm.compiler.spec.transforms import Transposed
from mlc_llm.errors import UnsupportedError

_USUAL = {
    **SIGLIP_USUAL,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "image_size": 980,
    "patch_size": 14,
}
_NORM = NormSpec(eps=1e-6, kind="layer", bias=True)
_HEAD_DIM = 128  # of the resampler
_VERSION = 2.6  # the others have other texts, layers or words around their pictures
_SIDE = 448  # of the square that has the pixels of a view
_MARKER, _ROW = "(<image>./</image>)", "<unk>"


def spec(whole: ConfigReader, vision: ConfigReader, text_width: int) -> TowerSpec:
    if whole.number("version", default=_VERSION) != _VERSION:
        raise UnsupportedError(
            f"config: version {whole.config['version']} of MiniCPM-V is not supported; available: "
            f"{_VERSION}",
            param="version",
        )
    if text_width % _HEAD_DIM:
        raise UnsupportedError(
            f"config: hidden_size {text_width} is no multiple of {_HEAD_DIM}, which the resampler "
            "needs",
            param="hidden_size",
        )
    fields = vit_fields(vision, _USUAL)
    fields["layers"] -= whole.flag("drop_vision_last_layer", default=False)
    queries = whole.integer("query_num", default=64, maximum=4096)
    side = min(_SIDE // fields["patch_size"], fields["columns"])
    return TowerSpec(
        **fields,
        table="buckets",
        largest_view=_largest_view(side),
        projector=(
            Dense("kv_proj", text_width),
            Normed("ln_kv", _NORM),
            Resampled(queries, text_width // _HEAD_DIM, _NORM),
            Normed("ln_post", _NORM),
            Dense("proj", text_width, stored="proj", transforms=(Transposed(),)),
        ),
        prefix="vpm.",
        projector_prefix="resampler.",
    )


def _largest_view(columns: int) -> int:
    """Patches of a view with the pixels of such a square: its sides are rounded to patches."""
    return columns**2 * 5 // 4


def _side_of(processor: ConfigReader, spec: TowerSpec) -> int:
    side = processor.integer("scale_resolution", default=_SIDE, maximum=2**13)
    columns, rest = divmod(side, spec.patch_size)
    if rest or _largest_view(columns) > spec.view_patches:
        raise UnsupportedError(
            f"{processor.source}: scale_resolution {side} is not supported: it must be a multiple "
            f"of {spec.patch_size}, the side of a patch, and at most that of the square for which "
            f"the tower is compiled ({spec.view_patches} patches with what rounding adds)",
            param="scale_resolution",
        )
    return side


def pictures(processor: ConfigReader, spec: TowerSpec, whole: ConfigReader) -> dict[str, Any]:
    """`row`: the token that stands for a row."""

    def word(name: str, usual: str) -> str:
        return str(processor.config.get(name, usual))

    old = {"image_mean": "norm_mean", "image_std": "norm_std"}
    given = processor.config  # GGUF files have the usual names
    colours = {ours: given.get(theirs, given.get(ours)) for ours, theirs in old.items()}
    begin, end = word("im_start", "<image>"), word("im_end", "</image>")
    if processor.flag("use_image_id", default=True):
        number = word("im_id_start", "<image_id>"), word("im_id_end", "</image_id>")
        begin = f"{number[0]}{{picture}}{number[1]}{begin}"
    return {
        "layout": "slices",
        "tile": _side_of(processor, spec),
        "max_tiles": processor.integer("max_slice_nums", default=9, maximum=256),
        "split": processor.flag("slice_mode", default=True),
        "queries": spec.queries,
        **pixels(ConfigReader(colours, source=processor.source), "bicubic"),
        **patches(spec),
        "marker": _MARKER,
        "row": word("unk", _ROW),
        "text": {
            "begin": begin,
            "end": end,
            "tile": word("slice_start", "<slice>"),
            "tile_end": word("slice_end", "</slice>"),
            "row_end": "\n",
        },
    }


def _config_in_gguf(fields: GGUFFields, text: GGUFFields) -> dict[str, Any]:
    """`vision.image_size` is that of a view. The table has more places."""
    columns = math.isqrt(fields.rows("v.position_embd.weight"))
    return {
        "version": _VERSION,
        "query_num": fields.rows("resampler.query"),
        "vision_config": {"image_size": columns * fields.size("vision.patch_size")},
    }


def _tensors_in_gguf(fields: GGUFFields) -> Mapping[str, str]:
    at = "resampler."
    joined = {f"attn.in_proj_{end}": f"{at}attn.qkv.{end}" for end in ("weight", "bias")}
    return {**joined, "proj": f"{at}proj.weight", "vpm.post_layernorm": "v.post_ln"}


FAMILY = TowerFamily(
    ("siglip", "siglip_vision_model"),
    ("vision_config", "query_num", "drop_vision_last_layer", "version", "image_token_id"),
    spec,
    pictures,
    TowerInGGUF(
        kind="resampler 3",  # clip.minicpmv_version 3 is 2.6
        texts=("qwen2",),
        token=_ROW,
        config=_config_in_gguf,
        processor=lambda fields: {"scale_resolution": fields.size("vision.image_size")},
        tensors=_tensors_in_gguf,
        turned=("resampler.proj",),
    ),
)
