"""InternVL 2.5, 3 and 3.5: InternViT on tiles and a thumbnail, 2 x 2 patches a row. In the authors'
form (`internvl_chat`) and in transformers' (`internvl`), whose names differ.

(Facts: transformers' `modeling_internvl.py`, `processing_internvl.py`,
`image_processing_got_ocr2.py`; the authors' `modeling_intern_vit.py`, `modeling_internvl_chat.py`.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlc_llm.compiler.models.config_reader import ConfigReader
from mlc_llm.compiler.models.family import GGUFFields
from mlc_llm.compiler.models.towers.family import (
    TowerFamily,
    TowerInGGUF,
    chosen_layers,
    edge,
    patches,
    pixels,
    vit_fields,
)
from mlc_llm.compiler.spec import NormSpec
from mlc_llm.compiler.spec.tower import SIGLIP, Dense, Joined, Normed, TowerSpec
from mlc_llm.errors import CorruptFileError, UnsupportedError

_USUAL = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 448,
    "patch_size": 14,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-6,
}
_CHAT_NAMES = {
    **SIGLIP,
    "positions": "embeddings.position_embedding",
    "attention_norm": "norm1",
    "qkv": "attn.qkv",
    "q_norm": "attn.q_norm",
    "k_norm": "attn.k_norm",
    "output": "attn.proj",
    "attention_scale": "ls1",
    "mlp_norm": "norm2",
    "mlp_scale": "ls2",
}
_NAMES = {
    **SIGLIP,
    "class": "embeddings.cls_token",
    "patch": "embeddings.patch_embeddings.projection",
    "positions": "embeddings.position_embeddings",
    "layer": "encoder.layer.{}.",
    "attention_norm": "layernorm_before",
    "qkv": "attention.q_proj attention.k_proj attention.v_proj",
    "q_norm": "attention.q_norm",
    "k_norm": "attention.k_norm",
    "output": "attention.projection_layer",
    "attention_scale": "lambda_1",
    "mlp_norm": "layernorm_after",
    "mlp_scale": "lambda_2",
    "norm": "layernorm",
}
_NORM = NormSpec(eps=1e-5, kind="layer", bias=True)  # torch's usual eps
_KINDS = {"layer_norm": "layer", "rms_norm": "rms"}
_MOST_MERGED = 16  # patches of a side of a block
_MEAN, _STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
_MARKER, _BEGIN, _END = "<IMG_CONTEXT>", "<img>", "</img>"


def _tower(whole: ConfigReader, vision: ConfigReader, usual_norm: str) -> dict[str, Any]:
    """The fields of a `TowerSpec` that both forms have."""
    fields = vit_fields(ConfigReader(_squares(vision.config)), _USUAL)
    kind = vision.choice("norm_type", of=_KINDS, default=usual_norm)
    norm = NormSpec(eps=fields["norm"].eps, kind="layer", bias=True)
    ratio = whole.number("downsample_ratio", default=0.5)
    merge = round(1 / ratio) if ratio >= 1 / _MOST_MERGED else 0
    if abs(merge * ratio - 1) > 1e-6 or fields["columns"] % merge:
        raise UnsupportedError(
            f"config: downsample_ratio {ratio} does not join whole patches",
            param="downsample_ratio",
        )
    return {
        **fields,
        "positions": fields["positions"] + 1,
        "norm": norm if kind == "layer" else NormSpec(eps=norm.eps),
        "class_row": True,
        "flat_table": False,
        "layer_scales": True,
        "merge": merge,
    }


def _squares(vision: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes that are [height, width] as one number."""
    found = dict(vision)
    for name in ("image_size", "patch_size"):
        sides = found.get(name)
        if not isinstance(sides, list):
            continue
        if len(sides) != 2 or sides[0] != sides[1]:
            raise CorruptFileError(f"config: {name} of vision_config must be a square", param=name)
        found[name] = sides[0]
    return found


def spec(whole: ConfigReader, vision: ConfigReader, text_width: int) -> TowerSpec:
    fields = _tower(whole, vision, "layer_norm")
    activation = whole.choice("projector_hidden_act", of={"gelu": "gelu"}, default="gelu")
    whole.choice("vision_feature_select_strategy", of={"default": "default"}, default="default")
    vision.always("use_absolute_position_embeddings", True)
    count = fields["layers"]
    fields["layers"] = chosen_layers(whole, "vision_feature_layer", -1, count)
    is_last = whole.config.get("vision_feature_layer", -1) == -1
    return TowerSpec(
        **fields,
        qkv_bias=vision.flag("attention_bias", default=False),
        query_norm=NormSpec(eps=1e-6) if vision.flag("use_qk_norm", default=False) else None,
        last_norm=is_last and not vision.flag("use_mean_pooling", default=True),
        projector=(
            Joined(),
            Normed("layer_norm", _NORM),
            Dense("linear_1", text_width, bias=True, activation=activation),
            Dense("linear_2", text_width, bias=True),
        ),
        prefix="vision_tower.",
        projector_prefix="multi_modal_projector.",
        names=_NAMES,
    )


def chat_spec(whole: ConfigReader, vision: ConfigReader, text_width: int) -> TowerSpec:
    # before it, "v1" put the patches of a block in another order
    whole.choice("ps_version", of={"v2": "v2"}, default="v1")
    fields = _tower(whole, vision, "rms_norm")
    fields["layers"] = chosen_layers(whole, "select_layer", -1, fields["layers"])
    has_norms = vision.flag("qk_normalization", default=True)
    return TowerSpec(
        **fields,
        qkv_bias=vision.flag("qkv_bias", default=False),
        query_norm=NormSpec(eps=fields["norm"].eps) if has_norms else None,
        last_norm=False,
        projector=(
            Joined(),
            Normed("0", _NORM),
            Dense("1", text_width, bias=True, activation="gelu"),
            Dense("3", text_width, bias=True),
        ),
        prefix="vision_model.",
        projector_prefix="mlp1.",
        names=_CHAT_NAMES,
    )


def _pictures(
    processor: ConfigReader, spec: TowerSpec, field: str, tile: int, **tiles: Any
) -> dict[str, Any]:
    """`field`: of the repository, which says the side of a `tile`."""
    side = spec.columns * spec.patch_size
    if tiles["min_tiles"] > tiles["max_tiles"]:
        raise CorruptFileError(
            f"{processor.source}: the least number of tiles, {tiles['min_tiles']}, is above the "
            f"largest, {tiles['max_tiles']}",
            param="min_tiles",
        )
    if tile != side:
        raise UnsupportedError(
            f"{field} is {tile}, and image_size of vision_config is {side}: tables of positions "
            "that are resized are not supported in this family",
            param=field,
        )
    return {
        "layout": "closest_grid",
        "tile": tile,
        **tiles,
        **pixels(processor, "bicubic", _MEAN, _STD),
        **patches(spec),
        "marker": _MARKER,
        "text": {"begin": _BEGIN, "end": _END},
    }


def pictures(processor: ConfigReader, spec: TowerSpec, whole: ConfigReader) -> dict[str, Any]:
    side = spec.columns * spec.patch_size
    return _pictures(
        processor,
        spec,
        "size",
        edge(processor, "size", "height", side),
        min_tiles=processor.integer("min_patches", default=1, maximum=256),
        max_tiles=processor.integer("max_patches", default=12, maximum=256),
    )


def chat_pictures(processor: ConfigReader, spec: TowerSpec, whole: ConfigReader) -> dict[str, Any]:
    """The number of tiles is in the config. The marker is that of transformers' templates."""
    side = spec.columns * spec.patch_size
    return _pictures(
        processor,
        spec,
        "force_image_size",
        whole.integer("force_image_size", default=side, maximum=2**13),
        min_tiles=whole.integer("min_dynamic_patch", default=1, maximum=256),
        max_tiles=whole.integer("max_dynamic_patch", default=6, maximum=256),
        split=whole.flag("dynamic_image_size", default=False),
        thumbnail=whole.flag("use_thumbnail", default=False),
    )


def _config_in_gguf(fields: GGUFFields, text: GGUFFields) -> dict[str, Any]:
    """`use_gelu` stands for the config's gelu, which is the exact one. All layers in it run. Older
    files do not say how many tiles there may be."""
    side = fields.size("vision.image_size")
    has_bias = fields.has_tensor("v.blk.0.ln1.bias")
    return {
        "downsample_ratio": 1 / fields.size("vision.projector.scale_factor"),
        "ps_version": "v2",
        "force_image_size": side,
        "dynamic_image_size": True,
        "use_thumbnail": True,
        "min_dynamic_patch": fields.size("vision.preproc_min_tiles", 1),
        "max_dynamic_patch": fields.size("vision.preproc_max_tiles", 12),
        "vision_config": {
            "hidden_act": "silu" if fields.flag("use_silu", False) else "gelu",
            "norm_type": "layer_norm" if has_bias else "rms_norm",
            "qkv_bias": fields.has_tensor("v.blk.0.attn_q.bias"),
            "qk_normalization": fields.has_tensor("v.blk.0.attn_q_norm.weight"),
        },
    }


_IN_GGUF = {
    "patch": "v.patch_embd",
    "class": "v.class_embd",
    "positions": "v.position_embd.weight",
    "attention_norm": "ln1",
    "qkv": "attn_qkv",
    "q_norm": "attn_q_norm",
    "k_norm": "attn_k_norm",
    "output": "attn_out",
    "attention_scale": "ls1.weight",
    "mlp_norm": "ln2",
    "up": "ffn_up",
    "down": "ffn_down",
    "mlp_scale": "ls2.weight",
}


def _tensors_in_gguf(fields: GGUFFields) -> dict[str, str]:
    names = {str(index): f"mm.model.mlp.{index}" for index in (0, 1, 3)}
    for role, stored in _IN_GGUF.items():
        own = _CHAT_NAMES[role]
        if stored.startswith("v."):
            names[f"vision_model.{own}"] = stored
            continue
        for layer in range(fields.layers("vision.block_count")):
            place = f"vision_model.{_CHAT_NAMES['layer'].format(layer)}"
            names[f"{place}{own}"] = f"v.blk.{layer}.{stored}"
    return names


GGUF = TowerInGGUF(
    kind="internvl",
    texts=("qwen2", "qwen3", "qwen3moe", "llama", "internlm2"),
    token=_MARKER,
    config=_config_in_gguf,
    tensors=_tensors_in_gguf,
)
FAMILY = TowerFamily(
    ("internvl_vision",),
    (
        "vision_config",
        "downsample_ratio",
        "projector_hidden_act",
        "vision_feature_layer",
        "vision_feature_select_strategy",
        "image_token_id",
    ),
    spec,
    pictures,
)
CHAT = TowerFamily(
    ("intern_vit_6b",),
    (
        "vision_config",
        "downsample_ratio",
        "ps_version",
        "select_layer",
        "force_image_size",
        "min_dynamic_patch",
        "max_dynamic_patch",
        "dynamic_image_size",
        "use_thumbnail",
        "image_token_id",
    ),
    chat_spec,
    chat_pictures,
    GGUF,
)
