"""Pixtral and Mistral 3 (Mistral Small 3.1 and 3.2, Ministral 3): a ViT on a picture in its own
shape. A word ends each row of the grid. Mistral 3 merges 2 x 2 patches to a row.

(Facts: transformers' `modeling_pixtral.py`, `modeling_mistral3.py`, `modeling_llava.py`,
`image_processing_pixtral.py`, `processing_pixtral.py`.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlc_llm.compiler.models.config_reader import ConfigReader
from mlc_llm.compiler.models.family import GGUFFields
from mlc_llm.compiler.models.towers.family import (
    CLIP_MEAN,
    CLIP_STD,
    TowerFamily,
    TowerInGGUF,
    chosen_layers,
    edge,
    patches,
    pixels,
    vit_fields,
)
from mlc_llm.compiler.models.towers.llava import two_layers
from mlc_llm.compiler.spec import NormSpec
from mlc_llm.compiler.spec.tower import (
    SIGLIP,
    Dense,
    Joined,
    Normed,
    ProjectorPart,
    TowerSpec,
    alternating,
)
from mlc_llm.compiler.spec.transforms import Regrouped
from mlc_llm.errors import CorruptFileError, UnsupportedError

_USUAL = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 1024,
    "patch_size": 16,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-5,
}
_NAMES = {
    **SIGLIP,
    "patch": "patch_conv",
    "before": "ln_pre",
    "layer": "transformer.layers.{}.",
    "attention_norm": "attention_norm",
    "qkv": "attention.q_proj attention.k_proj attention.v_proj",
    "output": "attention.o_proj",
    "mlp_norm": "ffn_norm",
    "gate_up": "feed_forward.gate_proj feed_forward.up_proj",
    "down": "feed_forward.down_proj",
}
_MARKER, _ROW_END, _END = "[IMG]", "[IMG_BREAK]", "[IMG_END]"
_MERGE, _EPS = "spatial_merge_size", "text_rms_norm_eps"
_MISTRAL_3: Mapping[str, Any] = {_MERGE: 2, "multimodal_projector_bias": False}


def spec(whole: ConfigReader, vision: ConfigReader, text_width: int) -> TowerSpec:
    """Mistral 3's config has a `spatial_merge_size`; then there is a merger, even if it is 1."""
    fields, merge = vit_fields(vision, _USUAL), whole.integer(_MERGE, default=1, maximum=16)
    dim = fields["width"] // fields["heads"]
    if dim % 4:
        raise CorruptFileError(
            "config: hidden_size of vision_config must be a multiple of 4 * num_attention_heads",
            param="num_attention_heads",
        )
    whole.choice("vision_feature_select_strategy", of={"full": "full"}, default="full")
    count, blocks = fields["layers"], -(-fields["columns"] // merge)
    rope = ConfigReader(vision.mapping("rope_parameters") or vision.config)
    fields |= {
        "layers": chosen_layers(whole, "vision_feature_layer", -1, count),
        "norm": NormSpec(eps=fields["norm"].eps),
        "positions": 0,
        "columns": 0,
    }
    merger = _merger(whole, fields["width"], merge) if _MERGE in whole.config else ()
    return TowerSpec(
        **fields,
        rope=alternating(dim, rope.number("rope_theta", default=10000.0)),
        largest_view=(blocks * merge) ** 2,
        gated=True,
        bias=False,
        patch_bias=False,
        pre_norm=True,
        last_norm=False,
        merge=merge,
        projector=(*merger, *two_layers(whole, text_width)),
        prefix="vision_tower.",
        projector_prefix="multi_modal_projector.",
        names=_NAMES,
    )


def _merger(whole: ConfigReader, width: int, merge: int) -> tuple[ProjectorPart, ...]:
    """A norm of each patch, and a block's patches side by side. Files have these inputs in the
    order (channel, row, column), ours are (row, column, channel)."""
    name = "patch_merger.merging_layer"
    norm = NormSpec(eps=whole.number(_EPS, default=1e-5))
    return Normed("norm", norm), Joined(), Dense(name, width, transforms=(Regrouped(width),))


def pictures(processor: ConfigReader, spec: TowerSpec, whole: ConfigReader) -> dict[str, Any]:
    block = spec.patch_size * spec.merge
    side = ConfigReader(whole.mapping("vision_config") or {}).integer("image_size", default=1024)
    size = processor.config.get("size")
    if isinstance(size, Mapping) and "longest_edge" not in size:
        raise UnsupportedError(
            f"{processor.source}: size must have longest_edge; others are not supported",
            param="size",
        )
    longest = edge(processor, "size", "longest_edge", side)
    if longest > side:
        raise UnsupportedError(
            f"{processor.source}: longest_edge {longest} of size is larger than image_size {side} "
            "of vision_config, for which the tower is compiled",
            param="longest_edge",
        )
    return {
        "layout": "bounded",
        "longest_edge": max(longest, block),
        **pixels(processor, "bicubic", CLIP_MEAN, CLIP_STD),
        **patches(spec),
        "marker": _MARKER,
        "text": {"row_end": _ROW_END, "end": _END},
    }


def _of_text(config: Mapping[str, Any]) -> dict[str, Any]:
    """The projector's norm has the eps of the text. What Mistral 3's configs leave out is added."""
    text = config.get("text_config")
    found = (
        {_EPS: text["rms_norm_eps"]} if isinstance(text, Mapping) and "rms_norm_eps" in text else {}
    )
    if config.get("model_type") != "mistral3":
        return found
    return found | {k: v for k, v in _MISTRAL_3.items() if config.get(k) is None}


def _config_in_gguf(fields: GGUFFields, text: GGUFFields) -> dict[str, Any]:
    """`use_gelu` stands for the config's gelu, which is the exact one. All layers in it run."""
    key = "vision.spatial_merge_size"
    merge = {_MERGE: fields.size(key)} if fields.has_tensor("mm.patch_merger.weight") else {}
    return {
        **merge,
        _EPS: text.number("attention.layer_norm_rms_epsilon"),
        "multimodal_projector_bias": fields.has_tensor("mm.1.bias"),
        "vision_config": {"hidden_act": "silu" if fields.flag("use_silu", False) else "gelu"},
    }


GGUF = TowerInGGUF(
    kind="pixtral",
    texts=("llama", "mistral3"),
    token=_MARKER,
    config=_config_in_gguf,
    tensors=lambda fields: {"linear_1": "mm.1", "linear_2": "mm.2"},
    paired=True,
)
FAMILY = TowerFamily(
    ("pixtral",),
    (
        "vision_config",
        "vision_feature_layer",
        "vision_feature_select_strategy",
        "projector_hidden_act",
        "multimodal_projector_bias",
        _MERGE,
        "image_token_id",
        "image_token_index",
    ),
    spec,
    pictures,
    GGUF,
    of_text=_of_text,
)
