"""Turns a model argument into a folder and a library that the core can load.

    resolved = resolve_model("HF://org/repo", device="cpu")
    resolved.folder, resolved.model_lib

A model argument is `HF://org/repo[:revision]` (a prepared `-MLC` repository or an ordinary one), a
local folder of either kind, a `.gguf` file, or None or "default": the embedded default model.
Missing files are made just in time and kept under MLC_LLM_HOME. This module never imports the
toolchain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mlc_llm.errors import CorruptFileError, InvalidRequestError, NotFoundError
from mlc_llm.prepare import content_hash, embedded_model, hub_download, linker
from mlc_llm.prepare.background import InBackground
from mlc_llm.prepare.jit_cache import (
    LAST_USE,
    LibraryOptions,
    MakeRules,
    Policies,
    TakeConfig,
    clean_home,
    converted_folder,
    home,
    library_path,
    mark_used,
    model_library,
)
from mlc_llm.prepare.kept_library import remove_stale_strips, strips_prefix
from mlc_llm.prepare.local_model import (
    CHAT_CONFIG,
    DEFAULT_MODEL,
    NO_PROJECTOR,
    local_path,
    projector_of,
)
from mlc_llm.prepare.progress import Steps, steps_of

# A script in the core answers instead of a model: for tests and benchmarks.
FAKE_DEVICE = "fake"

# A quantization: a GGUF file keeps its own types; other models get the default.
OWN_TYPES = "auto"

# Model types of MLC-LLM's `-MLC` folders that are converted before they are used. Our folders have
# the type of the text.
CONVERTED_FIRST = ("llava", "phi3_v")

# The quantization of a GGUF file whose own types have no kernels. It runs on every device.
_FALLBACK = "q4f32_1"

Log = Callable[[str], None]
StepListener = Steps | Log | None  # who gets the progress: see `progress.py`


@dataclass(frozen=True, kw_only=True)
class ResolvedModel:
    """A model that can be loaded: the folder, its library and the folder's config."""

    folder: Path
    model_lib: Path
    config: Mapping[str, Any]
    name: str

    @property
    def quantization(self) -> str:
        return str(self.config.get("quantization", ""))

    def core_json(self, device: str, draft: ResolvedModel | None = None) -> dict[str, Any]:
        """The argument of the core's `load` and `plan`. `draft`: the model of speculative
        decoding."""
        paths: dict[str, Any] = {**self._files(), "device": device, "name": self.name}
        if draft is not None:
            paths["draft"] = draft._files()
        return paths

    @property
    def strips(self) -> str:
        """What the path of the file begins with that keeps the weights as they are laid out for a
        library in MLC_LLM_HOME: it is beside the library. Of other libraries: ""."""
        library = Path(self.model_lib)
        is_kept = library.parent == home() / "model_lib"
        return str(strips_prefix(library, self.folder)) if is_kept else ""

    def _files(self) -> dict[str, str]:
        strips = self.strips
        files = {"model": str(self.folder), "model_lib": str(self.model_lib)}
        return {**files, "strips": strips} if strips else files


@content_hash.file_errors_named()
def resolve_model(
    model: str | Path | None,
    *,
    quantization: str | None = None,
    device: str = "cpu",
    model_lib: str | Path | None = None,
    opt: str = "O2",
    overrides: Mapping[str, int] | None = None,
    kv_cache_dtype: str | None = None,
    adapters: bool = False,
    mmproj: str | None = None,
    policies: Policies | None = None,
    progress: StepListener = None,
) -> ResolvedModel:
    """Finds a model. Downloads, converts and compiles what is missing.

    `quantization` is for a model that is converted; a prepared folder keeps its own, and a
    different one is an error. `mmproj`: the file of a GGUF model's tower, or "none", which also
    leaves the tower of a folder out; absent: the one beside it. `progress`: steps, or a function
    that gets a line for each step (default: a bar on the terminal for long steps).
    """
    needs_linker = model_lib is None and device != FAKE_DEVICE
    steps = steps_of(progress)
    rules = MakeRules(
        policies=policies or Policies.from_environment(),
        steps=steps,
        check=(lambda: linker.require(steps)) if needs_linker else _nothing,
    )
    clean_home()
    if needs_linker:
        options = LibraryOptions(
            opt=opt, overrides=overrides, kv_cache_dtype=kv_cache_dtype, adapters=adapters
        )
        return _converted_and_compiled(model, quantization, device, options, rules, mmproj)
    folder = _folder(model, quantization, device, rules, mmproj=mmproj)
    library = Path(model_lib) if model_lib is not None and device != FAKE_DEVICE else Path()
    if device != FAKE_DEVICE and not library.is_file():
        raise NotFoundError(f"{library}: no such model library", param="model_lib")
    config = read_chat_config(folder)
    return ResolvedModel(folder=folder, model_lib=library, config=config, name=model_name(model))


def _converted_and_compiled(
    model: str | Path | None,
    quantization: str | None,
    device: str,
    options: LibraryOptions,
    rules: MakeRules,
    mmproj: str | None,
) -> ResolvedModel:
    """The folder and the library. What is missing of both is made at the same time: the library
    needs the config, but not the weights."""
    name, kind = model_name(model), _device(device)

    def library_for(folder: Path, config: Mapping[str, Any]) -> Path:
        return model_library(folder, config, name=name, device=kind, options=options, rules=rules)

    with InBackground[Path](rules.children) as background:

        def compile_beside(folder: Path, config: Mapping[str, Any]) -> None:
            background.start(lambda: library_for(folder, config))

        folder = _folder(model, quantization, device, rules, compile_beside, mmproj=mmproj)
        config = read_chat_config(folder)
        library = background.result()
    # a file whose own types have no kernels may get another config than the first one
    if library is None or library != library_path(config, device=kind, options=options):
        library = library_for(folder, config)
    remove_stale_strips(library, folder)
    return ResolvedModel(folder=folder, model_lib=library, config=config, name=name)


@content_hash.file_errors_named()
def resolve_folder(
    model: str | Path | None,
    *,
    quantization: str | None = None,
    device: str = "cpu",
    policies: Policies | None = None,
    progress: StepListener = None,
    otherwise: str | None = None,
    unread: Collection[str] = (),
) -> Path:
    """The `-MLC` folder of a model argument. For devices that are not here: `otherwise` is the
    quantization of a model that has no types to keep, `unread` are GGUF's types that they do not
    read."""
    rules = MakeRules(policies=policies or Policies.from_environment(), steps=steps_of(progress))
    clean_home()
    return _folder(model, quantization, device, rules, otherwise=otherwise, unread=unread)


@content_hash.file_errors_named()
def resolve_source(
    model: str | Path | None, *, policies: Policies | None = None, progress: StepListener = None
) -> Path:
    """The folder or file that a model argument names: downloaded, but not converted."""
    rules = MakeRules(policies=policies or Policies.from_environment(), steps=steps_of(progress))
    return local_path(plain_model(model), rules)


def _folder(
    model: str | Path | None,
    quantization: str | None,
    device: str,
    rules: MakeRules,
    take_config: TakeConfig | None = None,
    *,
    otherwise: str | None = None,
    unread: Collection[str] = (),
    mmproj: str | None = None,
) -> Path:
    """The `-MLC` folder. While it is being made, `take_config` gets its path and its config."""
    model = plain_model(model)
    path = local_path(model, rules)
    if (path / CHAT_CONFIG).is_file() and not _is_converted_first(path):
        _require_same_quantization(path, quantization)
        projector_of(path, mmproj)
        _require_no_tower(path, mmproj)
        if path.is_relative_to(home()):
            mark_used(path / LAST_USE)
        return path
    projector = projector_of(path, mmproj)
    identity = _identity(path, rules.steps)
    if projector is not None:
        identity = [identity, _identity(projector, rules.steps)]

    def needs_other_types(config: Mapping[str, Any]) -> bool:
        if quantization is not None or chosen != OWN_TYPES:
            return False
        types = _types_of(config)
        return not types.isdisjoint(unread) or ("F16" in types and not _has_half(device))

    def take(folder: Path, config: Mapping[str, Any]) -> None:
        if take_config is not None and not needs_other_types(config):
            take_config(folder, config)

    def converted(chosen: str) -> Path:
        return converted_folder(
            path,
            projector=projector,
            needs_tower=mmproj is not None,
            text_alone=mmproj == NO_PROJECTOR and path.is_dir() and _may_have_tower(path),
            name=model_name(model),
            origin=str(model or embedded_model.NAME),
            identity=identity,
            quantization=chosen,
            fallback=_FALLBACK if quantization is None and chosen == OWN_TYPES else None,
            extra=embedded_model.config_of(chosen == OWN_TYPES) if model is None else {},
            rules=rules,
            take_config=take,
        )

    chosen = _quantization(path, quantization, device, otherwise)
    folder = converted(chosen)
    if needs_other_types(read_chat_config(folder)):
        chosen = otherwise or default_quantization(device)
        folder = converted(chosen)
    return folder


def plain_model(model: str | Path | None) -> str | Path | None:
    """A model argument in its plain form: None for the embedded model's name (unless a folder has
    that name), `HF://org/repo` for all ways to write a repository."""
    if not isinstance(model, str) or Path(model).exists():
        return model
    if model == DEFAULT_MODEL:
        return None
    return hub_download.repository(model) or model


def default_quantization(device: str) -> str:
    """The quantization when the user gives none and the file has no types to keep."""
    if _device(device) in ("cpu", FAKE_DEVICE) or not _has_half(device):
        return "q4f32_1"
    return "q4f16_1"


def _has_half(device: str) -> bool:
    """Whether a device has 16-bit floats. True for a GPU that is not found."""
    return _device(device) == "cpu" or bool(_probe(device).get("f16", True))


def _types_of(config: Mapping[str, Any]) -> set[str]:
    """The types of a GGUF file that a config keeps, by their names there."""
    scheme = str(config.get("quantization")).removeprefix("gguf_").removeprefix("q0").upper()
    others = cast("Mapping[str, list[list[str]]]", config.get("weight_types") or {})
    return {scheme, *(run[0] for runs in others.values() for run in runs)}


def _probe(device: str) -> dict[str, Any]:
    """What the driver of a device tells about it; nothing if the device is not here."""
    from mlc_llm import _core

    try:
        choice = json.loads(_core.choose_device(device.encode(errors="replace")))
    except _core.CoreError:
        return {}
    return cast("dict[str, Any]", choice["probes"][-1])


def _quantization(path: Path, asked: str | None, device: str, otherwise: str | None) -> str:
    """A GGUF file keeps its own types on every device, unless the user asks for others."""
    if asked not in (None, OWN_TYPES):
        return str(asked)
    if path.suffix == ".gguf":
        return OWN_TYPES
    if _is_converted_first(path):
        return kept_quantization(path)
    # 4 bits change vectors too much: MiniLM's have a cosine of 0.95 with float64's (8 bits: 0.9996)
    if (path / "modules.json").is_file():
        return "q8f32_1"
    return otherwise or default_quantization(device)


def read_chat_config(folder: Path) -> dict[str, Any]:
    """The `mlc-chat-config.json` of an `-MLC` folder."""
    path = folder / CHAT_CONFIG
    try:
        config = json.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise NotFoundError(f"{path}: {error.strerror}", param=CHAT_CONFIG) from None
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"{path}: not valid JSON: {error}", param=CHAT_CONFIG) from None
    if not isinstance(config, dict):
        raise CorruptFileError(f"{path}: must hold a JSON object", param=CHAT_CONFIG)
    return cast("dict[str, Any]", config)


def _is_converted_first(folder: Path) -> bool:
    """Whether MLC-LLM's converter made this folder of a model that takes pictures."""
    has_config = (folder / CHAT_CONFIG).is_file()
    return has_config and read_chat_config(folder).get("model_type") in CONVERTED_FIRST


def _require_same_quantization(folder: Path, asked: str | None) -> None:
    if asked in (None, OWN_TYPES):
        return
    has = read_chat_config(folder).get("quantization")
    if has != asked:
        raise InvalidRequestError(
            f"{folder} is prepared with quantization {has}; {asked} was asked for. "
            "Give the original model to convert it anew",
            param="quantization",
        )


def kept_quantization(folder: Path) -> str:
    """That of an `-MLC` folder."""
    return str(read_chat_config(folder).get("quantization"))


def _may_have_tower(folder: Path) -> bool:
    """Whether the config of a model says anything of pictures. If not, the conversion without a
    tower is the one that the model has anyway."""
    try:
        config = (folder / "config.json").read_bytes()
    except OSError:
        return True
    return re.search(rb"vision|visual|image|img_|tower|patch", config, re.IGNORECASE) is not None


def _require_no_tower(folder: Path, mmproj: str | None) -> None:
    if mmproj == NO_PROJECTOR and "pictures" in read_chat_config(folder):
        raise InvalidRequestError(
            f"{folder} is prepared with its tower, which mmproj {NO_PROJECTOR} leaves out. Give "
            "the original model to convert its text alone",
            param="mmproj",
        )


def _identity(path: Path, steps: Steps) -> Any:
    """A value that changes only when the model changes: hashes of the files, or the commit of a
    download."""
    commit = hub_download.commit_of(path)
    if commit is not None:
        return commit
    memory = home() / "content"
    if path.is_file():
        return content_hash.hash_of(path, memory, steps)
    names = [*hub_download.ORDINARY_FILES, *hub_download.PREPARED_FILES]
    return content_hash.hashes_of(path, names, memory, steps)


def model_name(model: str | Path | None) -> str:
    """A short name for folders and answers."""
    model = plain_model(model)
    if model is None:
        return embedded_model.NAME
    text = str(model).removeprefix(hub_download.PREFIX).partition(":")[0].rstrip("/")
    path = Path(text)
    stem = path.stem if path.suffix == ".gguf" else path.absolute().name
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in stem) or "model"


def _device(device: str) -> str:
    """`cuda:0` -> `cuda`. `auto` means the CPU here: the caller has already chosen a device."""
    kind = device.partition(":")[0]
    return "cpu" if kind == "auto" else kind


def _nothing() -> None: ...
