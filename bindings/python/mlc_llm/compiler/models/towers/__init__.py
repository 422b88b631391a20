"""The families of towers, as a table from a repository's `model_type` to an entry.

    fields = kept_fields(json.load(open("config.json")))    # "tower_config", or None
    spec = spec_of(fields, text_width=576)

To add one: one file here and one line in `TOWERS`; the text's defaults are in `text_part.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlc_llm.compiler.models.config_reader import ConfigReader
from mlc_llm.compiler.models.towers import (
    gemma3,
    gemma4,
    idefics3,
    internvl,
    lfm2_vl,
    llava,
    llava_next,
    minicpmv,
    phi3_v,
    pixtral,
    qwen,
)
from mlc_llm.compiler.models.towers.family import TowerFamily, TowerInGGUF
from mlc_llm.compiler.spec.tower import TowerSpec
from mlc_llm.errors import CorruptFileError

TOWERS: dict[str, TowerFamily] = {
    "idefics3": idefics3.FAMILY,
    "smolvlm": idefics3.FAMILY,
    "gemma3": gemma3.FAMILY,
    "gemma4": gemma4.FAMILY,
    "llava": llava.FAMILY,
    "llava_next": llava_next.FAMILY,
    "phi3_v": phi3_v.FAMILY,
    "minicpmv": minicpmv.FAMILY,
    "qwen2_vl": qwen.QWEN2_VL,
    "qwen2_5_vl": qwen.QWEN2_5_VL,
    "qwen3_vl": qwen.QWEN3_VL,
    "qwen3_5": qwen.QWEN3_5,
    "qwen3_5_moe": qwen.QWEN3_5,
    "lfm2_vl": lfm2_vl.FAMILY,
    "internvl": internvl.FAMILY,
    "internvl_chat": internvl.CHAT,
    "pixtral": pixtral.FAMILY,
    "mistral3": pixtral.FAMILY,
}
# Those that are named by the `model_type` of their vision_config, in repositories of another one.
_BY_TOWER = {("llava", "pixtral"): "pixtral"}
TOWER_CONFIG = "tower_config"  # the field of `model_config` for it


def kind_of(config: Mapping[str, Any]) -> str:
    """The name of a repository's kind of pictures."""
    name, vision = config.get("model_type"), config.get("vision_config")
    tower = vision.get("model_type") if isinstance(vision, Mapping) else None
    return _BY_TOWER.get((str(name), str(tower)), str(name))


def kept_fields(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the tower needs of a repository's config; None if it has no tower, or none that is
    known."""
    name = kind_of(config)
    family = TOWERS.get(name)
    vision = config.get(family.vision) if family is not None else None
    if family is None or not isinstance(vision, Mapping):
        return None
    if vision.get("model_type", family.kinds[0]) not in family.kinds:
        return None
    kept = {field: config[field] for field in family.fields if config.get(field) is not None}
    return {"model_type": name, **kept, **family.of_text(config)}


def in_gguf(kind: str) -> tuple[str, TowerInGGUF] | None:
    """The `model_type` and the description of a GGUF file with that `projector_type`."""
    found = ((name, family.gguf) for name, family in TOWERS.items())
    return next(((name, one) for name, one in found if one and one.kind == kind), None)


def spec_of(config: Mapping[str, Any], text_width: int) -> TowerSpec | None:
    """The tower of a config whose field `tower_config` is `kept_fields`; None if it has none."""
    found = _family_of(config)
    if found is None:
        return None
    family, whole = found
    vision = whole.mapping(family.vision)
    if vision is None:
        raise CorruptFileError(f"config: {family.vision} is missing", param=family.vision)
    return family.spec(whole, ConfigReader(vision), text_width)


def pictures_of(
    config: Mapping[str, Any], processor: Mapping[str, Any], spec: TowerSpec
) -> dict[str, Any]:
    """The object "pictures" of an mlc-chat-config.json. `processor`: the content of
    preprocessor_config.json."""
    found = _family_of(config)
    assert found is not None, spec
    read = ConfigReader(processor, source="preprocessor_config.json")
    return found[0].pictures(read, spec, found[1])


def _family_of(config: Mapping[str, Any]) -> tuple[TowerFamily, ConfigReader] | None:
    fields = config.get(TOWER_CONFIG)
    if fields is None:
        return None
    if not isinstance(fields, Mapping) or fields.get("model_type") not in TOWERS:
        known = ", ".join(TOWERS)
        raise CorruptFileError(
            f"config: {TOWER_CONFIG} must be an object whose model_type is one of {known}",
            param=TOWER_CONFIG,
        )
    return TOWERS[str(fields["model_type"])], ConfigReader(fields)
