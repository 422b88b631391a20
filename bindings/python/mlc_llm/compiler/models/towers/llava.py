"""LLaVA 1.5: CLIP on a square cut from the picture's middle; each patch becomes a row.

(Facts: transformers' `modeling_llava.py`, `modeling_clip.py`, `image_processing_clip.py`.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlc_llm.compiler.models.config_reader import ConfigReader
from mlc_llm.compiler.models.towers.family import (
    CLIP_MEAN,
    CLIP_STD,
    TowerFamily,
    TowerInGGUF,
    TowerInMLC,
    chosen_layers,
    edge,
    patches,
    pixels,
    vit_fields,
)
from mlc_llm.compiler.spec.tower import Dense, TowerSpec

CLIP_USUAL = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 336,
    "patch_size": 14,
    "hidden_act": "quick_gelu",
    "layer_norm_eps": 1e-5,
}
_GELU = {"gelu": "gelu"}
_MARKER = "<image>"


def clip_fields(vision: ConfigReader, reader: ConfigReader, name: str) -> dict[str, Any]:
    """The fields of CLIP's tower. `name`: the field of `reader` that chooses the layer."""
    fields = vit_fields(vision, CLIP_USUAL)
    return fields | {
        "layers": chosen_layers(reader, name, -2, fields["layers"]),
        "positions": fields["positions"] + 1,
        "class_row": True,
        "patch_bias": False,
        "pre_norm": True,
        "last_norm": False,
    }


def two_layers(whole: ConfigReader, text_width: int) -> tuple[Dense, Dense]:
    """The projector of LLaVA's class."""
    activation = whole.choice("projector_hidden_act", of=_GELU, default="gelu")
    bias = whole.flag("multimodal_projector_bias", default=True)
    return (
        Dense("linear_1", text_width, bias=bias, activation=activation),
        Dense("linear_2", text_width, bias=bias),
    )


def spec(whole: ConfigReader, vision: ConfigReader, text_width: int) -> TowerSpec:
    whole.choice("vision_feature_select_strategy", of={"default": "default"}, default="default")
    return TowerSpec(
        **clip_fields(vision, whole, "vision_feature_layer"),
        projector=two_layers(whole, text_width),
        prefix="vision_tower.vision_model.",
        projector_prefix="multi_modal_projector.",
    )


def pictures(processor: ConfigReader, spec: TowerSpec, whole: ConfigReader) -> dict[str, Any]:
    side = spec.columns * spec.patch_size
    return {
        "layout": "cropped",
        "shortest_edge": edge(processor, "size", "shortest_edge", side),
        "crop": [edge(processor, "crop_size", name, side) for name in ("height", "width")],
        **pixels(processor, "bicubic", CLIP_MEAN, CLIP_STD),
        **patches(spec),
        "marker": _MARKER,
        "text": {"begin": "", "end": ""},
    }


_TEXTS_IN_MLC = {"LlamaForCausalLM": "llama", "MistralForCausalLM": "mistral"}
_EPS_UNSAID = 1e-6  # what MLC-LLM writes where the repository has no `layer_norm_eps`


def clip_in_mlc(fields: ConfigReader) -> dict[str, Any]:
    """The `vision_config` that a folder has for CLIP."""
    vision = dict(fields.mapping("vision_config") or {})
    others = vision.pop("kwargs", None)
    found = {**vision, **(others if isinstance(others, Mapping) else {})}
    if found.get("layer_norm_eps") == _EPS_UNSAID:
        del found["layer_norm_eps"]
    return found


def _config_in_mlc(fields: ConfigReader, text: dict[str, Any]) -> dict[str, Any]:
    kind = fields.choice("text_architecture", of=_TEXTS_IN_MLC, default="LlamaForCausalLM")
    return {
        "text_config": {**text, "model_type": kind},
        "vision_config": clip_in_mlc(fields),
        "image_token_index": fields.integer("image_token_index", minimum=0),
    }


GGUF = TowerInGGUF(
    kind="mlp",
    texts=("llama",),
    token=_MARKER,
    config=lambda fields, text: {"vision_feature_layer": -1},  # the file has those that run
    tensors=lambda fields: {"linear_1": "mm.0", "linear_2": "mm.2"},
)
FAMILY = TowerFamily(
    ("clip_vision_model",),
    (
        "vision_config",
        "vision_feature_layer",
        "vision_feature_select_strategy",
        "projector_hidden_act",
        "multimodal_projector_bias",
        "image_token_id",
        "image_token_index",
    ),
    spec,
    pictures,
    GGUF,
    TowerInMLC(_config_in_mlc),
)
