"""Reads `mlc-package-config.json`, which has the keys of MLC-LLM's file.

config = read_config(Path("mlc-package-config.json"))
config.devices, config.models[0].overrides, config.prebuilt

Each wrong key and type is an error that names it (`model_list[1].bundle_weight`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from mlc_llm.errors import InvalidRequestError, MLCError, NotFoundError, UnsupportedError
from mlc_llm.errors.nearest import did_you_mean
from mlc_llm.package.devices import DEVICES, AppDevice
from mlc_llm.prepare.local_model import DEFAULT_MODEL
from mlc_llm.types_gen import KVCacheDType

# How a model begins that has an address.
ADDRESSES = ("HF:", "https:", "http:")
ADAPTERS = "adapters"  # the folder in `bundle`
_TOP = ("device", "model_list", "model_lib_path_for_prepare_libs")
_ENTRY = (
    *("model", "model_id", "estimated_vram_bytes", "bundle_weight", "overrides", "model_lib"),
    *("quantization", "adapters"),
)
_SIZES = (
    *("context_window_size", "sliding_window_size", "prefill_chunk_size", "attention_sink_size"),
    *("max_batch_size", "tensor_parallel_shards", "pipeline_parallel_stages"),
)
# 1 for the others
_LEAST = {"sliding_window_size": -1, "attention_sink_size": 0, "context_window_size": 0}
_TEXTS = ("opt", "kv_cache_dtype")
_KV_CACHE_DTYPES = ("auto", *get_args(KVCacheDType))
# What people call the devices.
_MEANT = {"ios": "iphone", "ipad": "iphone", "catalyst": "macabi", "mac": "macos", "java": "jvm"}
_OVERRIDES = (*_SIZES, "disaggregation", *_TEXTS)
_MODEL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_LIBRARY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    """A model of the app. `place`: its name in error messages, such as `model_list[0]`."""

    place: str
    model: str
    model_id: str
    estimated_vram_bytes: int
    bundle_weight: bool = False
    model_lib: str | None = None
    quantization: str | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    opt: str = "O2"
    kv_cache_dtype: str | None = None
    adapters: Mapping[str, Path] = field(default_factory=dict)  # LoRA adapters by name


@dataclass(frozen=True, kw_only=True)
class PackageConfig:
    """The whole file. `prebuilt`: the archive of a library that is not compiled, by its name."""

    devices: Sequence[AppDevice]
    models: Sequence[ModelEntry]
    prebuilt: Mapping[str, Path] = field(default_factory=dict)


def read_config(path: Path, device: str | None = None) -> PackageConfig:
    """Reads and checks the file. Relative paths in it start at its folder. `device` replaces those
    of the file."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors write a mark before the text
    except FileNotFoundError:
        raise NotFoundError(
            f"{path}: no such file; write one, or name it by --package-config",
            param="package_config",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequestError(f"{path}: {error}", param="package_config") from None
    try:
        config = json.loads(text, object_pairs_hook=_without_repeats)
    except InvalidRequestError:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidRequestError(
            f"{path}: not valid JSON: {error} (JSON has no comments, and no comma after a last "
            "entry)",
            param="package_config",
        ) from None
    if device is not None and isinstance(config, dict):
        config["device"] = device
    return _Reader(path.parent).config(config)


def _without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise InvalidRequestError(f"{name}: is in an object twice; remove one", param=name)
    return dict(pairs)


class _Reader:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def config(self, value: Any) -> PackageConfig:
        config = _object(value, "the file", _TOP)
        models = [
            self.model(entry, f"model_list[{at}]")
            for at, entry in enumerate(_list(_needed(config, "model_list"), "model_list"))
        ]
        _require_distinct(models)
        devices = _devices(_needed(config, "device"))
        _require_adapters_run(models, devices)
        return PackageConfig(
            devices=devices,
            models=models,
            prebuilt=self.prebuilt(config.get("model_lib_path_for_prepare_libs", {}), models),
        )

    def model(self, value: Any, place: str) -> ModelEntry:
        entry = _object(value, place, _ENTRY)
        model = _text(_needed(entry, "model", place), f"{place}.model")
        model_id = _text(_needed(entry, "model_id", place), f"{place}.model_id")
        if not _MODEL_ID.fullmatch(model_id):
            raise _wrong(f"{place}.model_id", "must consist of letters, digits and ._-", model_id)
        if model_id.lower() == ADAPTERS:
            words = "is the name of the bundle's folder of adapters; choose another one"
            raise _wrong(f"{place}.model_id", words, model_id)
        vram = _integer(
            _needed(entry, "estimated_vram_bytes", place), f"{place}.estimated_vram_bytes", least=0
        )
        bundled = _boolean(entry.get("bundle_weight", False), f"{place}.bundle_weight")
        is_local = not model.startswith(ADDRESSES)
        if is_local:
            self.require_folder(model, f"{place}.model")
        if is_local and not bundled:
            raise _wrong(
                f"{place}.bundle_weight",
                "must be true: the weights of a local folder have no address from which the app "
                "could download them",
                bundled,
            )
        library = entry.get("model_lib")
        sizes, texts = _overrides(entry.get("overrides", {}), f"{place}.overrides")
        return ModelEntry(
            place=place,
            model=self.local_model(model) if is_local else model,
            model_id=model_id,
            estimated_vram_bytes=vram,
            bundle_weight=bundled,
            model_lib=None if library is None else _library(library, f"{place}.model_lib"),
            quantization=_quantization(entry.get("quantization"), f"{place}.quantization"),
            sizes=sizes,
            adapters=self.adapters(entry.get("adapters", {}), f"{place}.adapters"),
            **texts,
        )

    def adapters(self, value: Any, place: str) -> dict[str, Path]:
        found = {}
        for name, text in _object(value, place, None).items():
            at = f"{place}.{name}"
            if not _MODEL_ID.fullmatch(name):
                raise _wrong(at, "a name must consist of letters, digits and ._-", name)
            found[name] = Path(self.path(_text(text, at)))
            if not found[name].exists():
                raise NotFoundError(f"{at}: {found[name]}: no such folder or file", param=at)
        return found

    def require_folder(self, model: str, place: str) -> None:
        """A repository's name without HF:// is the usual mistake."""
        try:
            if model == DEFAULT_MODEL or Path(self.path(model)).exists():
                return
        except (OSError, RuntimeError) as error:  # may not be read; a home that nobody has
            raise NotFoundError(f"{place}: {model}: {error}", param=place) from None
        name = re.sub(r"(?i)^hf:/*", "", model)
        if _REPOSITORY.fullmatch(name):
            hint = f"{model}: no such folder; if it is a repository of the hub, write HF://{name}"
        else:
            hint = f"{self.path(model)}: no such folder"
        raise NotFoundError(f"{place}: {hint}", param=place)

    def local_model(self, model: str) -> str:
        """A path from the config's folder, or the name of the embedded model."""
        path = self.path(model)
        return model if model == DEFAULT_MODEL and not Path(path).exists() else path

    def path(self, text: str) -> str:
        return str(self.folder / os.path.expanduser(text))

    def prebuilt(self, value: Any, models: Sequence[ModelEntry]) -> dict[str, Path]:
        name = "model_lib_path_for_prepare_libs"
        found = {}
        for library, text in _object(value, name, None).items():
            place = f"{name}.{library}"
            _library(library, place)
            path = Path(self.path(_text(text, place)))
            if path.suffix not in (".tar", ".a"):
                raise _wrong(place, "must be a .tar or .a of `mlc_llm compile`", text)
            if not path.is_file():
                raise NotFoundError(f"{place}: {path}: no such file", param=place)
            found[library] = path
        used = {model.model_lib for model in models}
        for library in found:
            if library not in used:
                raise InvalidRequestError(
                    f"{name}.{library}: no model has this model_lib", param=f"{name}.{library}"
                )
        return found


def _devices(value: Any) -> list[AppDevice]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise _wrong("device", "must be a device's name, or a list of them", value)
    for name in names:
        if name not in DEVICES:
            offered = ", ".join(DEVICES)
            meant = _MEANT.get(name.lower(), name.lower())
            hint = f'; do you mean "{meant}"?' if meant in DEVICES else ""
            raise InvalidRequestError(
                f'device: "{name}" is none of {offered}{hint}', param="device"
            )
    return [DEVICES[name] for name in dict.fromkeys(names)]


def _overrides(value: Any, place: str) -> tuple[dict[str, int], dict[str, str]]:
    """The sizes, and the settings that are texts."""
    overrides = _object(value, place, _OVERRIDES)
    sizes, texts = {}, {}
    for name, given in overrides.items():
        at = f"{place}.{name}"
        if name in _TEXTS:
            texts[name] = _text(given, at)
            _CHECKS[name](texts[name], at)
        elif name == "disaggregation":
            if _boolean(given, at):
                raise UnsupportedError(f"{at}: there is no disaggregation here", param=at)
        else:
            least = _LEAST.get(name, 1)
            sizes[name] = _integer(given, at, least=least)
            if name == "pipeline_parallel_stages":
                from mlc_llm.compiler.stages import check_stages

                check_stages(given, place=at)
            elif name == "tensor_parallel_shards" and given != 1:
                raise UnsupportedError(f"{at}: {given}: one device is supported", param=at)
    sizes.pop("pipeline_parallel_stages", None)
    return sizes, texts


def _quantization(value: Any, place: str) -> str | None:
    """Checked here, before a model is downloaded and converted."""
    if value is None:
        return None
    name = _text(value, place)
    if name != "auto":
        from mlc_llm.compiler.quantization.schemes import get

        try:
            get(name)
        except MLCError as error:
            raise InvalidRequestError(f"{place}: {error.message}", param=place) from None
    return name


def _check_opt(text: str, place: str) -> None:
    from mlc_llm.compiler.options import LEVELS, OptimizationFlags

    try:
        OptimizationFlags.parse(text)
    except MLCError as error:
        reason = error.message.removeprefix("--opt: ")
        offered = f"must be one of {', '.join(LEVELS)}, or flags such as activation_bits=16"
        raise InvalidRequestError(f"{place}: {offered}: {reason}", param=place) from None


def _check_kv_cache_dtype(text: str, place: str) -> None:
    if text not in _KV_CACHE_DTYPES:
        raise _wrong(place, f"must be one of {', '.join(_KV_CACHE_DTYPES)}", text)


_CHECKS = {"opt": _check_opt, "kv_cache_dtype": _check_kv_cache_dtype}


def _require_adapters_run(models: Sequence[ModelEntry], devices: Sequence[AppDevice]) -> None:
    refused = [device.name for device in devices if not device.takes_adapters]
    for model in models:
        if model.adapters and refused:
            at = f"{model.place}.adapters"
            offered = ", ".join(name for name, one in DEVICES.items() if one.takes_adapters)
            raise UnsupportedError(
                f"{at}: apps for {refused[0]} open no files of adapters; those for "
                f"{offered} do. Or merge the adapter into the weights (mlc_llm convert_weight "
                "--lora-adapter)",
                param=at,
            )


def _require_distinct(models: Sequence[ModelEntry]) -> None:
    if not models:
        raise _wrong("model_list", "must have a model", [])
    seen: dict[str, ModelEntry] = {}
    for model in models:
        first = seen.setdefault(model.model_id, model)
        if first is not model:
            raise _wrong(f"{model.place}.model_id", f"is {first.place}'s already", model.model_id)


def _object(value: Any, place: str, known: Sequence[str] | None) -> dict[str, Any]:
    param = "package_config" if place == "the file" else place
    if not isinstance(value, dict):
        raise InvalidRequestError(f"{place}: must be an object, not {_said(value)}", param=param)
    for name in value if known is not None else ():
        if name not in (known or ()):
            at = name if place == "the file" else f"{place}.{name}"
            words = did_you_mean(name, known or (), " ")
            raise InvalidRequestError(
                f"{at}: unknown key;{words} known here: {', '.join(known or ())}", param=at
            )
    return cast("dict[str, Any]", value)


def _needed(config: Mapping[str, Any], name: str, place: str = "") -> Any:
    at = f"{place}.{name}" if place else name
    if name not in config:
        raise InvalidRequestError(f"{at}: is missing", param=at)
    return config[name]


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(place, "must be a list", value)
    return value


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise _wrong(place, "must be a text that is not empty", value)
    return value


def _integer(value: Any, place: str, *, least: int) -> int:
    if isinstance(value, float) and value.is_integer():  # 4.5e9
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _wrong(place, f"must be a whole number of at least {least}", value)
    return int(value)


def _boolean(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(place, "must be true or false", value)
    return value


def _library(value: Any, place: str) -> str:
    name = _text(value, place)
    if not _LIBRARY.fullmatch(name):
        raise _wrong(
            place, "must consist of letters, digits and _-., and begin with a letter", name
        )
    return name


def _wrong(place: str, rule: str, value: Any) -> InvalidRequestError:
    return InvalidRequestError(f"{place}: {rule}; it is {_said(value)}", param=place)


def _said(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
