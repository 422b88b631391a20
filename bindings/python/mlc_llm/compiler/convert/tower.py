"""The tower of a repository that takes pictures, and what an `-MLC` folder says of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from mlc_llm.compiler import models
from mlc_llm.compiler.convert.source import ModelSource
from mlc_llm.compiler.convert.weights import as_in_files
from mlc_llm.compiler.models import towers
from mlc_llm.compiler.quantization import TOWER
from mlc_llm.compiler.spec.tower import TowerSpec
from mlc_llm.compiler.spec.tower_weights import tower_weights
from mlc_llm.errors import CorruptFileError, InvalidRequestError, UnsupportedError

PICTURES = "pictures"  # the field of an mlc-chat-config.json


def tower_of(
    source: ModelSource, config: Mapping[str, Any] | None = None, text_width: int = 0
) -> TowerSpec | None:
    """None: the repository has no tower, none of a known kind, or its files leave it out. `config`
    and `text_width`: those of `source`, if they are read already."""
    if config is None:
        config = source.hf_config()
        text_width = models.config_from_hf(config).hidden_size
    spec = towers.spec_of(config, text_width)
    if spec is None or not source.has_weights():
        return spec
    tensors = source.tensors()
    parts = [part for weight in as_in_files(tower_weights(spec), tensors) for part in weight.parts]
    return spec if any(part.tensor in tensors for part in parts) else None


def check_tower_quantization(spec: TowerSpec | None, asked: str | None) -> None:
    """Its name is checked by `quantization.schemes.with_tower`."""
    if spec is None and asked is not None:
        raise InvalidRequestError(f"{TOWER}: this model has no tower", param=TOWER)


class _TextAlone:
    """A model's source, whose tower a user leaves out."""

    def __init__(self, source: ModelSource) -> None:
        self._source = source

    def hf_config(self) -> dict[str, Any]:
        config = self._source.hf_config()
        return {name: config[name] for name in config if name != towers.TOWER_CONFIG}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


def text_alone(source: ModelSource) -> ModelSource:
    return cast("ModelSource", _TextAlone(source))


def require_tower(source: ModelSource) -> None:
    """Refuses a model without one, for a user who has named its file."""
    if tower_of(source) is None:
        raise UnsupportedError(
            f"mmproj: this kind of tower ({source.text_part_of()}) is not read for this model; "
            "without mmproj the model is converted for texts alone",
            param="mmproj",
        )


def picture_fields(
    chat: Mapping[str, Any], config: Mapping[str, Any], source: ModelSource, spec: TowerSpec
) -> dict[str, Any]:
    """The fields of an mlc-chat-config.json that a model with this tower has besides those of
    `chat`. `config`: the repository's own."""
    fields = config[towers.TOWER_CONFIG]
    pictures = towers.pictures_of(config, source.picture_config(), spec)
    token = fields.get("image_token_id", fields.get("image_token_index"))
    if type(token) is not int:
        token = _token_of(source, pictures.get("row", pictures["marker"]))
    inner = {**chat["model_config"], towers.TOWER_CONFIG: fields}
    return {"model_config": inner, PICTURES: pictures, "image_token_id": token}


def _token_of(source: ModelSource, text: str) -> int:
    """The id of an added token, for configs that leave it out."""
    tokenizer = json.loads(source.tokenizer_files().get("tokenizer.json", b"{}"))
    added = tokenizer.get("added_tokens") if isinstance(tokenizer, dict) else None
    for entry in added if isinstance(added, list) else []:
        if isinstance(entry, dict) and entry.get("content") == text and "id" in entry:
            return int(entry["id"])
    raise CorruptFileError(
        f"config: image_token_id is missing, and tokenizer.json has no added token '{text}', which "
        "stands for the rows of a picture",
        param="image_token_id",
    )
