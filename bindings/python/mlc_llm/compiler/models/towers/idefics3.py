"""Idefics 3, SmolVLM, SmolVLM 2, granite-docling: SigLIP on tiles, 4 x 4 patches a row.

(Facts: transformers' `modeling_idefics3.py`, `image_processing_idefics3.py`,
`processing_idefics3.py`.)
"""

from __future__ import annotations

from typing import Any

from mlc_llm.compiler.models.config_reader import ConfigReader
from mlc_llm.compiler.models.towers.family import (
    TowerFamily,
    TowerInGGUF,
    edge,
    patches,
    pixels,
    vit_fields,
)
from mlc_llm.compiler.spec.tower import Dense, Joined, TowerSpec

_USUAL = {
    "hidden_size": 1152,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 16,
    "image_size": 224,
    "patch_size": 32,
    "hidden_act": "gelu_pytorch_tanh",
    "layer_norm_eps": 1e-6,
}
_MARKER = "<image>"
_AROUND, _WHOLE = "<fake_token_around_image>", "<global-img>"
_LARGEST_SIDE = 4096


def spec(whole: ConfigReader, vision: ConfigReader, text_width: int) -> TowerSpec:
    return TowerSpec(
        **vit_fields(vision, _USUAL),
        merge=whole.integer("scale_factor", default=2, maximum=16),
        projector=(Joined(), Dense("modality_projection.proj", text_width)),
        prefix="model.vision_model.",
        projector_prefix="model.connector.",
    )


def pictures(processor: ConfigReader, spec: TowerSpec, whole: ConfigReader) -> dict[str, Any]:
    """`tile` is what stands before the rows of a tile, `row_end` behind a row of tiles, `whole`
    before those of the whole picture, `single` the same if there are no tiles, `end` behind all."""
    tile = spec.columns * spec.patch_size
    return {
        "layout": "tiles",
        "tile": edge(processor, "max_image_size", "longest_edge", tile),
        "longest_edge": edge(processor, "size", "longest_edge", 4 * tile),
        "largest_side": _LARGEST_SIDE,
        "split": processor.flag("do_image_splitting", default=True),
        **pixels(processor, "lanczos"),
        **patches(spec),
        "marker": _MARKER,
        "text": {
            "tile": f"{_AROUND}<row_{{row}}_col_{{column}}>",
            "row_end": "\n",
            "whole": f"\n{_AROUND}{_WHOLE}",
            "single": f"{_AROUND}{_WHOLE}",
            "end": _AROUND,
        },
    }


GGUF = TowerInGGUF(
    kind="idefics3",
    texts=("llama",),
    token=_MARKER,
    config=lambda fields, text: {"scale_factor": fields.size("vision.projector.scale_factor")},
    processor=lambda fields: {
        "max_image_size": {"longest_edge": fields.size("vision.image_size")},
        "size": {"longest_edge": fields.size("vision.preproc_image_size")},
    },
)
_KINDS = ("idefics3", "idefics3_vision", "smolvlm_vision", "siglip_vision_model")
FAMILY = TowerFamily(
    _KINDS, ("vision_config", "scale_factor", "image_token_id"), spec, pictures, GGUF
)
