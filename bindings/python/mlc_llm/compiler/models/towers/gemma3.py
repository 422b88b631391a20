"""Gemma 3: SigLIP on the whole picture, 4 x 4 patches averaged to a row; on tiles of a long picture
too, if its processor says so ("pan and scan").

(Facts: transformers' `modeling_gemma3.py`, `processing_gemma3.py`, `image_processing_gemma3.py`.)
"""

from __future__ import annotations

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
from mlc_llm.compiler.spec.part import PictureRows
from mlc_llm.compiler.spec.tower import Averaged, Dense, Normed, TowerSpec
from mlc_llm.compiler.spec.transforms import PlusOne, Transposed
from mlc_llm.errors import CorruptFileError

_BEGIN, _END = "<start_of_image>", "<end_of_image>"


def spec(whole: ConfigReader, vision: ConfigReader, text_width: int) -> TowerSpec:
    fields = vit_fields(vision, SIGLIP_USUAL)
    rows = whole.integer("mm_tokens_per_image", default=256)
    merge = fields["columns"] // max(round(rows**0.5), 1)
    if not merge or (fields["columns"] // merge) ** 2 != rows or fields["columns"] % merge:
        raise CorruptFileError(
            f"config: mm_tokens_per_image {rows} does not divide the {fields['positions']} patches "
            "of image_size",
            param="mm_tokens_per_image",
        )
    soft = NormSpec(eps=fields["norm"].eps)
    matrix = "mm_input_projection_weight"
    return TowerSpec(
        **fields,
        merge=merge,
        projector=(
            Averaged(),
            Normed("mm_soft_emb_norm", soft, (PlusOne(),)),
            Dense("mm_input_projection", text_width, stored=matrix, transforms=(Transposed(),)),
        ),
        prefix="vision_tower.vision_model.",
        projector_prefix="multi_modal_projector.",
        rows=PictureRows(see_each_other=True),
    )


def pictures(processor: ConfigReader, spec: TowerSpec, whole: ConfigReader) -> dict[str, Any]:
    """`begin` and `end` stand around the rows of a view; `whole`, `first_tile` and `next_tile`
    before that in a picture with tiles. Published files leave the fields of pan and scan null: the
    numbers are those of transformers' processor."""
    side = spec.columns * spec.patch_size
    most = processor.integer("pan_and_scan_max_num_crops", default=4, maximum=256)
    least = processor.integer(
        "pan_and_scan_min_crop_size", default=256, minimum=most, maximum=2**15
    )
    return {
        "layout": "stretched",
        "size": [side, side],
        "split": processor.flag("do_pan_and_scan", default=False),
        "max_tiles": most,
        "min_tile": least,
        "split_ratio": _ratio(processor),
        **pixels(processor, "bilinear"),
        **patches(spec),
        "rows_see_each_other": True,
        "marker": _BEGIN,
        "text": {
            "begin": f"\n\n{_BEGIN}",
            "end": f"{_END}\n\n",
            "whole": "Here is the original image ",
            "first_tile": " and here are some crops to help you see better ",
            "next_tile": " ",
        },
    }


def _ratio(processor: ConfigReader) -> float:
    """Of the longer side to the other: below 1 means the same as 1."""
    name = "pan_and_scan_min_ratio_to_activate"
    return min(max(processor.number(name, default=1.2), 1.0), 2.0**15)


def _rows_in_gguf(fields: GGUFFields, text: GGUFFields) -> dict[str, Any]:
    """llama.cpp writes the side of a block of patches only where it is not 4."""
    columns = fields.size("vision.image_size") // fields.size("vision.patch_size")
    side = columns // fields.size("vision.projector.scale_factor", 4)
    return {"mm_tokens_per_image": max(side, 1) ** 2}


GGUF = TowerInGGUF(
    kind="gemma3",
    texts=("gemma3",),
    token="<image_soft_token>",
    config=_rows_in_gguf,
    tensors=lambda fields: {"mm_input_projection_weight": "mm.input_projection.weight"},
    plus_one=("mm_soft_emb_norm.weight",),
)
FAMILY = TowerFamily(
    ("siglip_vision_model", "gemma3", "gemma3_vision"),
    ("vision_config", "mm_tokens_per_image", "image_token_id", "image_token_index"),
    spec,
    pictures,
    GGUF,
)
