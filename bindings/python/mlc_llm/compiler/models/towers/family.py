"""The interface of a family of towers: what a repository's config says of its pictures.

A model that takes pictures is a text family (`models/family.py`) and one of these. Nothing here
imports TVM.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlc_llm.compiler.models.config_reader import ConfigReader
from mlc_llm.compiler.models.family import GGUFFields
from mlc_llm.compiler.spec import NormSpec
from mlc_llm.compiler.spec.tower import TowerSpec
from mlc_llm.errors import CorruptFileError, UnsupportedError

ACTIVATIONS = {
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "gelu": "gelu",
    "quick_gelu": "quick_gelu",
    "silu": "silu",
}
_FILTERS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}  # Pillow's numbers
_HALVES = [0.5, 0.5, 0.5]
CLIP_MEAN = [0.48145466, 0.4578275, 0.40821073]
CLIP_STD = [0.26862954, 0.26130258, 0.27577711]
SIGLIP_USUAL = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "image_size": 224,
    "patch_size": 16,
    "hidden_act": "gelu_pytorch_tanh",
    "layer_norm_eps": 1e-6,
}


@dataclass(frozen=True)
class TowerInGGUF:
    """How llama.cpp writes the towers of a family into a file of their own.

    `kind`: the file's `projector_type`. `texts`: the architectures of the texts' files. `token`:
    the text's token that stands for a row. `config(fields, text)` gives the fields of the
    repository's config that the tower needs, with those of its `vision_config` that are not in
    every file (`text`: the keys of the text's file);
    `processor(fields)` those of its preprocessor_config.json. `tensors(fields)`: modules of the
    repository, for those of the projector behind its prefix, that gguf-py's table does not have.
    `plus_one`: ends of names of norms whose weights the file has plus one. `turned`: ends of names
    of matrices whose rows are columns in the file. `paired`: the rows of queries and keys stand in
    the file in pairs that turn together, as in those of Llama's texts."""

    kind: str
    texts: tuple[str, ...]
    token: str
    config: Callable[[GGUFFields, GGUFFields], dict[str, Any]] = lambda fields, text: {}
    processor: Callable[[GGUFFields], dict[str, Any]] = lambda fields: {}
    tensors: Callable[[GGUFFields], Mapping[str, str]] = lambda fields: {}
    plus_one: tuple[str, ...] = ()
    turned: tuple[str, ...] = ()
    paired: bool = False


@dataclass(frozen=True)
class TowerInMLC:
    """How MLC-LLM's converter writes a model with a tower of a family into an `-MLC` folder.

    `config(fields, text)` gives the repository's config of the folder's `model_config` and of the
    text's fields in it, as a family reads them. `names`: modules there, and those of the
    repository. `processor`: fields of preprocessor_config.json that MLC-LLM has in its code."""

    config: Callable[[ConfigReader, dict[str, Any]], dict[str, Any]]
    names: Mapping[str, str] = field(default_factory=dict)
    processor: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TowerFamily:
    """`kinds`: the `model_type` of a `vision_config` that it reads; one without it is read too.
    `fields`: those of the repository's config that the tower needs, `vision_config` among them.
    `spec(whole, vision, text_width)` and `pictures(processor, spec, whole)`: what the core needs
    between a picture and the tower ("pictures" in mlc-chat-config.json). `of_text(config)`: what
    the tower needs of the text's config."""

    kinds: tuple[str, ...]
    fields: tuple[str, ...]
    spec: Callable[[ConfigReader, ConfigReader, int], TowerSpec]
    pictures: Callable[[ConfigReader, TowerSpec, ConfigReader], dict[str, Any]]
    gguf: TowerInGGUF | None = None
    mlc: TowerInMLC | None = None  # None: MLC-LLM has no such model
    of_text: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda config: {}
    vision: str = "vision_config"  # the field with the config of its own


def vit_fields(
    vision: ConfigReader, usual: Mapping[str, Any], columns: int | None = None
) -> dict[str, Any]:
    """The fields of a `TowerSpec` that SigLIP's and CLIP's configs share. `usual`: Hugging Face's
    defaults. `columns`: of the table of positions, if it is not that of a view."""

    def size(name: str, maximum: int = 2**16) -> int:
        return vision.integer(name, default=usual[name], maximum=maximum)

    width, heads = size("hidden_size"), size("num_attention_heads")
    if width % heads:
        raise CorruptFileError(
            "config: hidden_size of vision_config must be a multiple of num_attention_heads",
            param="num_attention_heads",
        )
    eps = vision.number("layer_norm_eps", default=usual["layer_norm_eps"])
    side = size("patch_size", 256)
    columns = size("image_size") // side if columns is None else columns
    if not columns:
        raise CorruptFileError(
            "config: image_size of vision_config is smaller than patch_size", param="image_size"
        )
    return {
        "layers": size("num_hidden_layers", 1024),
        "width": width,
        "heads": heads,
        "ff": size("intermediate_size"),
        "channels": vision.integer("num_channels", default=3, maximum=3, minimum=3),
        "patch_size": side,
        "positions": columns**2,
        "columns": columns,
        "norm": NormSpec(eps=eps, kind="layer", bias=True),
        "activation": vision.choice("hidden_act", of=ACTIVATIONS, default=usual["hidden_act"]),
    }


def chosen_layers(whole: ConfigReader, name: str, usual: int, count: int) -> int:
    """After how many layers the hidden state is taken that the field names: 0 is what the first
    layer gets, -1 what the last one gives."""
    chosen = whole.config.get(name, usual)
    if isinstance(chosen, list):
        raise UnsupportedError(
            f"config: {name} names several layers, which is not supported", param=name
        )
    if type(chosen) is not int or not -count <= chosen <= count:
        raise CorruptFileError(
            f"config: {name} must be a number from {-count} to {count}", param=name
        )
    return chosen if chosen >= 0 else count + 1 + chosen


def pixels(processor: ConfigReader, usual_filter: str, mean: Any = None, std: Any = None) -> dict:
    """How a picture's bytes become numbers; errors name the field. `mean`, `std`: if the processor
    has none."""
    return {
        "mean": _colours(processor, "image_mean", mean or _HALVES),
        "std": _colours(processor, "image_std", std or _HALVES),
        "filter": _filter(processor, usual_filter),
    }


def patches(spec: TowerSpec) -> dict[str, Any]:
    return {
        "patch_size": spec.patch_size,
        "patch_order": "row_column_channel" if spec.patch_is_linear else "channel_row_column",
        "merge": spec.merge,
        "columns": spec.columns if spec.table == "exact" else 0,
    }


def edge(reader: ConfigReader, name: str, inner: str, usual: int, maximum: int = 2**15) -> int:
    """The field `inner` of an object, or the object itself as a number."""
    value = reader.config.get(name)
    if isinstance(value, Mapping):
        inside = ConfigReader(value, source=f"{reader.source}: {name}")
        return inside.integer(inner, default=usual, maximum=maximum)
    return reader.integer(name, default=usual, maximum=maximum)


def _colours(processor: ConfigReader, name: str, usual: list[float]) -> list[float]:
    value = processor.config.get(name)
    if value is None:
        return usual
    is_list = isinstance(value, list) and len(value) == 3
    numbers = [n for n in value if isinstance(n, (int, float))] if is_list else []
    if len(numbers) != 3 or (name == "image_std" and not all(numbers)):
        raise CorruptFileError(
            f"{processor.source}: {name} must be three numbers, one for each colour", param=name
        )
    return [float(n) for n in numbers]


def _filter(processor: ConfigReader, usual: str) -> str:
    value = processor.config.get("resample")
    if value is None:
        return usual
    if not isinstance(value, int) or _FILTERS.get(value, "nearest") == "nearest":
        raise UnsupportedError(
            f"{processor.source}: resample {value!r} is not supported; available: "
            f"{', '.join(f'{n} ({word})' for n, word in _FILTERS.items() if n)}",
            param="resample",
        )
    return _FILTERS[value]
