"""Phi-3-vision and Phi-3.5-vision: CLIP on tiles of a picture and on the whole of it, 2 x 2 patches
a row. Learned rows end each line and stand between the tiles and the whole.

(Facts: the authors' `image_embedding_phi3_v.py` and `image_processing_phi3_v.py`; mlx-vlm's
`models/phi3_v`; MLC-LLM's `phi3v_image.py`.)
"""

from __future__ import annotations

from typing import Any

from mlc_llm.compiler.models.config_reader import ConfigReader
from mlc_llm.compiler.models.towers.family import (
    CLIP_MEAN,
    CLIP_STD,
    TowerFamily,
    TowerInMLC,
    patches,
    pixels,
)
from mlc_llm.compiler.models.towers.llava import clip_fields, clip_in_mlc
from mlc_llm.compiler.spec.tower import Dense, Joined, Learned, TowerSpec
from mlc_llm.errors import CorruptFileError

_AT = "model.vision_embed_tokens."
_PUBLISHED = {"hd_transform_order": "sub_glb"}


def _check_form(layer: ConfigReader) -> None:
    """The authors' code has more forms than the published models."""
    layer.choice("hd_transform_order", of={"sub_glb": "sub_glb"}, default="glb_sub")
    layer.choice("projection_cls", of={"mlp": "mlp"}, default="mlp")
    layer.always("use_hd_transform", True)
    layer.always("with_learnable_separator", True)


def spec(whole: ConfigReader, vision: ConfigReader, text_width: int) -> TowerSpec:
    """`vision` is `img_processor`. It names CLIP's large model, and says none of its sizes."""
    _check_form(ConfigReader(whole.mapping("embd_layer") or _PUBLISHED, source="embd_layer"))
    vision.choice("type_feature", of={"patch": "patch"}, default="patch")
    fields = clip_fields(vision, vision, "layer_idx")
    width = fields["width"]
    if vision.integer("image_dim_out", default=width, maximum=2**16) != width:
        raise CorruptFileError(
            f"config: image_dim_out of img_processor must be {width}, the tower's width",
            param="image_dim_out",
        )
    if fields["columns"] % 2:
        raise CorruptFileError(
            "config: image_size of img_processor must be an even number of patches",
            param="image_size",
        )
    end = (f"{_AT}sub_GN", (1, 1, 1, 4 * width))
    before_whole = (f"{_AT}glb_GN", (1, 1, 4 * width))
    return TowerSpec(
        **fields,
        merge=2,
        projector=(
            Joined(),
            Learned((end, before_whole)),
            Dense("0", text_width, bias=True, activation="gelu"),
            Dense("2", text_width, bias=True),
        ),
        prefix=f"{_AT}img_processor.vision_model.",
        projector_prefix=f"{_AT}img_projection.",
    )


def pictures(processor: ConfigReader, spec: TowerSpec, whole: ConfigReader) -> dict[str, Any]:
    return {
        "layout": "high_definition",
        "tile": spec.columns * spec.patch_size,
        "max_tiles": processor.integer("num_crops", default=1, maximum=256),
        **pixels(processor, "bilinear", CLIP_MEAN, CLIP_STD),
        **patches(spec),
        "marker": "<|image|>",
    }


def _config_in_mlc(fields: ConfigReader, text: dict[str, Any]) -> dict[str, Any]:
    own = fields.mapping("img_processor") or {}
    return {**text, "img_processor": {**clip_in_mlc(fields), **own}}


MLC = TowerInMLC(
    _config_in_mlc,
    names={
        "img_projection.linear_1": "img_projection.0",
        "img_projection.linear_2": "img_projection.2",
    },
    processor={"num_crops": 16},
)
FAMILY = TowerFamily(
    ("clip_vision_model",),
    ("img_processor", "embd_layer", "image_token_id"),
    spec,
    pictures,
    mlc=MLC,
    vision="img_processor",
)
