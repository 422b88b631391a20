"""Gemma 3: SigLIP on the whole picture, 4 x 4 patches averaged to a row.

(Facts: transformers' `modeling_gemma3.py`, `processing_gemma3.py`.)
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
    """`begin` and `end` are what stands around the rows of a picture."""
    side = spec.columns * spec.patch_size
    return {
        "layout": "stretched",
        "size": [side, side],
        **pixels(processor, "bilinear"),
        **patches(spec),
        "rows_see_each_other": True,
        "marker": _BEGIN,
        "text": {"begin": f"\n\n{_BEGIN}", "end": f"{_END}\n\n"},
    }


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
