"""The config of Gemma 4's assistant, as its folder has it (`model_type: gemma4_assistant`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlc_llm.compiler import models
from mlc_llm.compiler.drafts import AssistantSpec
from mlc_llm.compiler.drafts.assistant import FAMILY
from mlc_llm.errors import CorruptFileError, UnsupportedError

MODEL_TYPE = "gemma4_assistant"
# Fields that have one value here, in `text_config` and outside of it.
_LAYERS = {
    "hidden_size_per_layer_input": 0,
    "enable_moe_block": False,
    "use_double_wide_mlp": False,
}
_TIED = "tie_word_embeddings"
_SIZES = ("backbone_hidden_size", "num_centroids", "centroid_intermediate_top_k")
_USUAL = {"num_centroids": 2048, "centroid_intermediate_top_k": 32}


def assistant_of(
    folder: Path, config: Mapping[str, Any], ordering: list[int] | None
) -> AssistantSpec:
    """`ordering`: the tokens of all clusters, if the files have them."""
    text = config.get("text_config")
    if not isinstance(text, Mapping):
        raise CorruptFileError(f"{folder}: text_config must be an object", param="text_config")
    for fields, wanted in ((text, _LAYERS), (config, {_TIED: True})):
        for name, value in wanted.items():
            if fields.get(name, value) != value:
                raise UnsupportedError(
                    f"{folder}: {name} {fields[name]} is not supported in an assistant; {value} is",
                    param=name,
                )
    sizes = {name: config.get(name, _USUAL.get(name)) for name in _SIZES}
    for name, size in sizes.items():
        if type(size) is not int or size <= 0:
            raise CorruptFileError(f"{folder}: {name} must be a number above 0", param=name)
    layers = {**text, **_LAYERS, "num_kv_shared_layers": 0, _TIED: True}
    layers.pop("vocab_size_per_layer_input", None)  # 0, as the size of what is not there
    made: dict[str, Any] = {
        "config": models.get(FAMILY).config_class.from_dict(layers),
        "target_size": sizes["backbone_hidden_size"],
    }
    if config.get("use_ordered_embeddings"):
        if ordering is None:
            raise CorruptFileError(
                f"{folder}: tensor masked_embedding.token_ordering is missing", param="draft"
            )
        made["clusters"] = sizes["num_centroids"]
        made["chosen_clusters"] = sizes["centroid_intermediate_top_k"]
        made["tokens"] = tuple(ordering)
    return AssistantSpec(**made).checked()
