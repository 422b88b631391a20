"""Gemma 4: a ViT on a picture in its own shape, 3 x 3 patches averaged to a row.

(Facts: transformers' `modeling_gemma4.py`, `image_processing_gemma4.py`, `processing_gemma4.py`;
llama.cpp's `conversion/gemma.py`.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlc_llm.compiler.models.config_reader import ConfigReader
from mlc_llm.compiler.models.family import GGUFFields
from mlc_llm.compiler.models.towers.family import (
    TowerFamily,
    TowerInGGUF,
    patches,
    pixels,
    vit_fields,
)
from mlc_llm.compiler.spec import NormSpec
from mlc_llm.compiler.spec.part import PictureRows
from mlc_llm.compiler.spec.tower import (
    SIGLIP,
    Averaged,
    Dense,
    Normed,
    ProjectorPart,
    Standardized,
    TowerSpec,
    half_for_each,
)
from mlc_llm.errors import CorruptFileError, UnsupportedError

_USUAL = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 16,
    "num_attention_heads": 12,
    "patch_size": 16,
    "hidden_act": "gelu_pytorch_tanh",
    "layer_norm_eps": 1e-6,
}
_LINEAR = (
    *((role, f"self_attn.{role}_proj") for role in "qkv"),
    ("output", "self_attn.o_proj"),
    *((role, f"mlp.{role}_proj") for role in ("gate", "up", "down")),
)
_ONE = {role: f"{name}.linear" for role, name in _LINEAR}
_NAMES = {
    **SIGLIP,
    "patch": "patch_embedder.input_proj",
    "positions": "patch_embedder.position_embedding_table",
    "attention_norm": "input_layernorm",
    "attention_behind": "post_attention_layernorm",
    "mlp_norm": "pre_feedforward_layernorm",
    "mlp_behind": "post_feedforward_layernorm",
    "q_norm": "self_attn.q_norm",
    "k_norm": "self_attn.k_norm",
    **_ONE,
    "qkv": " ".join(_ONE[role] for role in "qkv"),
    "gate_up": " ".join(_ONE[role] for role in ("gate", "up")),
}
_BEGIN, _MARKER, _END = "<|image>", "<|image|>", "<image|>"
_ROWS, _FEW_ROWS = 280, 70  # of a picture
_MOST_ROWS = 1120  # that any processor asks for
_SIGHT = "pictures_see"


def spec(whole: ConfigReader, vision: ConfigReader, text_width: int) -> TowerSpec:
    usual = {"hidden_activation": "hidden_act", "rms_norm_eps": "layer_norm_eps"}
    given = {usual.get(name, name): value for name, value in vision.config.items()}
    fields = vit_fields(ConfigReader(given), _USUAL, columns=1)
    width, heads, eps = fields["width"], fields["heads"], fields["norm"].eps
    _check_heads(vision, width, heads)
    rope = ConfigReader(vision.mapping("rope_parameters") or {})
    norm = NormSpec(eps=eps)
    standardized: tuple[ProjectorPart, ...] = ()
    factor = width**0.5  # of the mean, before anything else
    if vision.flag("standardize", default=False):
        standardized = (Standardized("std", factor),)
    last = NormSpec(eps=eps if standardized else eps / width, weight=False)
    sees = whole.choice(_SIGHT, of={"": "", "vision": "vision"}, default="")
    fields |= {
        "norm": norm,
        "positions": 2 * vision.integer("position_embedding_size", default=10240),
        "columns": 0,
    }
    merge = vision.integer("pooling_kernel_size", default=3, maximum=16)
    return TowerSpec(
        **fields,
        table="axes",
        flat_table=False,
        rope=half_for_each(width // heads, rope.number("rope_theta", default=100.0)),
        largest_view=_rows_of(whole) * merge**2,
        gated=True,
        bias=False,
        head_norms=norm,
        attention_scale=1.0,
        norms_behind=True,
        clamped=vision.flag("use_clipped_linears", default=False),
        patch_bias=False,
        patch_is_linear=True,
        last_norm=False,
        merge=merge,
        projector=(
            Averaged(),
            *standardized,
            Normed("embedding_pre_projection_norm", last),
            Dense("embedding_projection", text_width),
        ),
        prefix="vision_tower.",
        projector_prefix="embed_vision.",
        rows=PictureRows(see_each_other=sees == "vision", only_in_windows=True),
        names=_NAMES,
    )


def _check_heads(vision: ConfigReader, width: int, heads: int) -> None:
    own = {
        "num_key_value_heads": (heads, vision.integer("num_key_value_heads", default=heads)),
        "head_dim": (width // heads, vision.integer("head_dim", default=width // heads)),
    }
    for name, (needed, found) in own.items():
        if needed != found:
            raise UnsupportedError(
                f"config: {name} of vision_config is {found}; only {needed}, which follows from "
                "num_attention_heads and hidden_size, is supported",
                param=name,
            )
    if width // heads % 4:
        raise CorruptFileError(
            "config: hidden_size of vision_config must be a multiple of 4 * num_attention_heads",
            param="num_attention_heads",
        )


def _rows_of(whole: ConfigReader) -> int:
    """The most rows of a picture for which the tower is compiled."""
    return whole.integer("vision_soft_tokens_per_image", default=_ROWS, maximum=_MOST_ROWS)


def pictures(processor: ConfigReader, spec: TowerSpec, whole: ConfigReader) -> dict[str, Any]:
    """The tower takes 2x - 1 of what the processor gives, which is from 0 to 1 as a rule."""
    most = _rows_of(whole)
    rows = processor.integer("max_soft_tokens", default=most, maximum=_MOST_ROWS)
    if rows > most:
        raise UnsupportedError(
            f"{processor.source}: max_soft_tokens {rows} is larger than the {most} of the config "
            "(vision_soft_tokens_per_image), for which the tower is compiled",
            param="max_soft_tokens",
        )
    block = (spec.patch_size * spec.merge) ** 2
    found = pixels(processor, "bicubic", [0.0] * 3, [1.0] * 3)
    if not processor.flag("do_normalize", default=False):
        found |= {"mean": [0.0] * 3, "std": [1.0] * 3}
    found["std"] = [one / 2 for one in found["std"]]
    found["mean"] = [a + b for a, b in zip(found["mean"], found["std"], strict=True)]
    return {
        "layout": "filled",
        "min_pixels": min(_FEW_ROWS, rows) * block,
        "max_pixels": rows * block,
        **found,
        **patches(spec),
        **({"rows_see_each_other": True} if spec.rows.see_each_other else {}),
        "marker": _MARKER,
        "text": {"begin": _BEGIN, "end": _END},
    }


def _of_text(config: Mapping[str, Any]) -> dict[str, Any]:
    """Rows of a picture see each other in the layers with a window, in the large models."""
    text, name = config.get("text_config"), "use_bidirectional_attention"
    found = text.get(name) if isinstance(text, Mapping) else None
    return {_SIGHT: found} if found else {}


_IN_GGUF = {
    **{name: f"attn_{role}" for role, name in _LINEAR[:3]},
    "self_attn.o_proj": "attn_out",
    **{name: f"ffn_{role}" for role, name in _LINEAR[4:]},
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "input_layernorm": "ln1",
    "post_attention_layernorm": "attn_post_norm",
    "pre_feedforward_layernorm": "ln2",
    "post_feedforward_layernorm": "ffn_post_norm",
}
_BOUNDS = ("input_min", "input_max", "output_min", "output_max")
_TABLE = "v.position_embd.weight"


def _config_in_gguf(fields: GGUFFields, text: GGUFFields) -> dict[str, Any]:
    """Pictures see each other in the texts whose layers get no inputs of their own, the large
    ones; no file says it."""
    inputs = "embedding_length_per_layer_input"
    is_small = inputs in text and bool(text.raw(inputs))
    return {
        **({} if is_small else {_SIGHT: "vision"}),
        "vision_config": {
            "hidden_activation": "gelu_pytorch_tanh",
            "position_embedding_size": fields.rows(_TABLE, 1),
            "use_clipped_linears": fields.has_tensor("v.blk.0.attn_q.input_min"),
            "standardize": fields.has_tensor("v.std_bias"),
        },
    }


def _tensors_in_gguf(fields: GGUFFields) -> dict[str, str]:
    found = {
        "vision_tower.patch_embedder.input_proj": "v.patch_embd",
        "vision_tower.patch_embedder.position_embedding_table": _TABLE,
        "vision_tower.std_bias": "v.std_bias",
        "vision_tower.std_scale": "v.std_scale",
        "embedding_projection": "mm.input_projection",
    }
    linear = [name for _, name in _LINEAR]
    for layer in range(fields.layers("vision.block_count")):
        for name, stored in _IN_GGUF.items():
            at, to = f"vision_tower.encoder.layers.{layer}.{name}", f"v.blk.{layer}.{stored}"
            found[f"{at}.linear" if name in linear else at] = to
            found |= {f"{at}.{end}": f"{to}.{end}" for end in _BOUNDS if name in linear}
    return found


GGUF = TowerInGGUF(
    kind="gemma4v",
    texts=("gemma4",),
    token=_MARKER,
    config=_config_in_gguf,
    tensors=_tensors_in_gguf,
)
FAMILY = TowerFamily(
    ("gemma4_vision",),
    ("vision_config", "vision_soft_tokens_per_image", "image_token_id"),
    spec,
    pictures,
    GGUF,
    of_text=_of_text,
)
