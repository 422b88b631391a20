"""What a model argument means, and how it becomes a folder and a library that the core can load.

    resolved = resolve_model("HF://org/repo", device="cpu")
    resolved.folder, resolved.model_lib

A model argument is `HF://org/repo[:revision]` (a prepared `-MLC` repository or an ordinary one), a
local folder of either kind, a `.gguf` file, or None or "default": the embedded default model. What
is missing is made just in time and kept under MLC_LLM_HOME. Nothing here imports the toolchain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mlc_llm import content, embedded_model, hub_download, linker
from mlc_llm.errors import CorruptFileError, InvalidRequestError, NotFoundError
from mlc_llm.jit_cache import (
    LAST_USE,
    LibraryOptions,
    Making,
    Policies,
    clean_home,
    converted_folder,
    home,
    mark_used,
    model_library,
)
from mlc_llm.steps import Steps, steps_of

CHAT_CONFIG = "mlc-chat-config.json"

# A script of the core's answers in place of a model: for tests and benchmarks.
FAKE_DEVICE = "fake"

# A quantization: a GGUF file keeps the types that it has; other models get the default.
OWN_TYPES = "auto"
# The embedded model by name, where a model argument is a word.
DEFAULT_MODEL = "default"

# What a GGUF file becomes whose own types have no kernels. It runs on every device, as other files'
# folders do.
_FALLBACK = "q4f32_1"

Log = Callable[[str], None]
Told = Steps | Log | None  # who is told of what is made: see `steps.py`


@dataclass(frozen=True, kw_only=True)
class ResolvedModel:
    """A model that can be loaded: the folder, its library and what the folder's config says."""

    folder: Path
    model_lib: Path
    config: Mapping[str, Any]
    name: str

    @property
    def quantization(self) -> str:
        return str(self.config.get("quantization", ""))

    def core_json(self, device: str, draft: ResolvedModel | None = None) -> dict[str, Any]:
        """What the core's `load` and `plan` take; `draft`: the model of speculative decoding."""
        paths: dict[str, Any] = {
            "model": str(self.folder),
            "model_lib": str(self.model_lib),
            "device": device,
            "name": self.name,
        }
        if draft is not None:
            paths["draft"] = {"model": str(draft.folder), "model_lib": str(draft.model_lib)}
        return paths


def resolve_model(
    model: str | Path | None,
    *,
    quantization: str | None = None,
    device: str = "cpu",
    model_lib: str | Path | None = None,
    opt: str = "O2",
    overrides: Mapping[str, int] | None = None,
    policies: Policies | None = None,
    progress: Told = None,
) -> ResolvedModel:
    """Finds a model, downloads, converts and compiles what is missing.

    `quantization` applies to a model that is converted; a prepared folder has its own and another
    one is refused. `progress`: steps, or a function that gets a line for each (default: a bar on
    the terminal for what takes long).
    """
    needs_linker = model_lib is None and device != FAKE_DEVICE
    making = Making(
        policies=policies or Policies.from_environment(),
        steps=steps_of(progress),
        check=linker.require if needs_linker else _nothing,
    )
    clean_home()
    folder = _folder(model, quantization, device, making)
    config = read_chat_config(folder)
    name = _name(model)
    if device == FAKE_DEVICE:
        library = Path()
    elif model_lib is not None:
        library = Path(model_lib)
        if not library.is_file():
            raise NotFoundError(f"{library}: no such model library", param="model_lib")
    else:
        options = LibraryOptions(opt=opt, overrides=overrides)
        library = model_library(
            folder, config, name=name, device=_device(device), options=options, making=making
        )
    return ResolvedModel(folder=folder, model_lib=library, config=config, name=name)


def resolve_folder(
    model: str | Path | None,
    *,
    quantization: str | None = None,
    device: str = "cpu",
    policies: Policies | None = None,
    progress: Told = None,
) -> Path:
    """The `-MLC` folder of a model argument."""
    making = Making(policies=policies or Policies.from_environment(), steps=steps_of(progress))
    clean_home()
    return _folder(model, quantization, device, making)


def resolve_source(
    model: str | Path | None, *, policies: Policies | None = None, progress: Told = None
) -> Path:
    """The folder or file that a model argument means, as it is: downloaded, not converted."""
    making = Making(policies=policies or Policies.from_environment(), steps=steps_of(progress))
    return _local_path(_meant(model), making)


def _folder(
    model: str | Path | None, quantization: str | None, device: str, making: Making
) -> Path:
    model = _meant(model)
    path = _local_path(model, making)
    if (path / CHAT_CONFIG).is_file():
        _require_same_quantization(path, quantization)
        if path.is_relative_to(home()):
            mark_used(path / LAST_USE)
        return path
    identity = _identity(path, making.steps)

    def converted(chosen: str) -> Path:
        return converted_folder(
            path,
            name=_name(model),
            origin=str(model or embedded_model.NAME),
            identity=identity,
            quantization=chosen,
            fallback=_FALLBACK if quantization is None and chosen == OWN_TYPES else None,
            extra=embedded_model.config_of(chosen == OWN_TYPES) if model is None else {},
            making=making,
        )

    chosen = _quantization(path, quantization, device)
    folder = converted(chosen)
    if quantization is None and chosen == OWN_TYPES and _needs_half(folder, device):
        return converted(default_quantization(device))
    return folder


def _meant(model: str | Path | None) -> str | Path | None:
    """None for the embedded model's name, unless a folder has it."""
    return None if model == DEFAULT_MODEL and not Path(DEFAULT_MODEL).exists() else model


def default_quantization(device: str) -> str:
    """What a model is converted to when nobody says, and its file has no types to keep."""
    if _device(device) in ("cpu", FAKE_DEVICE) or not _has_half(device):
        return "q4f32_1"
    return "q4f16_1"


def _has_half(device: str) -> bool:
    """Whether a GPU has 16-bit floats. One that is not here is refused elsewhere."""
    return _device(device) == "cpu" or bool(_probe(device).get("f16", True))


def _needs_half(folder: Path, device: str) -> bool:
    """Whether the folder's weights are 16-bit floats, which the device does not have."""
    return not _has_half(device) and read_chat_config(folder).get("quantization") == "q0f16"


def _probe(device: str) -> dict[str, Any]:
    """What the driver of a device tells about it; nothing if the device is not here."""
    from mlc_llm import _core

    try:
        choice = json.loads(_core.choose_device(device.encode(errors="replace")))
    except _core.CoreError:
        return {}
    return cast("dict[str, Any]", choice["probes"][-1])


def _quantization(path: Path, asked: str | None, device: str) -> str:
    """A GGUF file keeps its types, on every device, unless the user says otherwise."""
    if asked not in (None, OWN_TYPES):
        return str(asked)
    return OWN_TYPES if path.suffix == ".gguf" else default_quantization(device)


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


def _local_path(model: str | Path | None, making: Making) -> Path:
    """The folder or file that the argument means, downloaded if need be."""
    weights_home = home() / "model_weights"
    if model is None:
        return embedded_model.embedded_model_file(weights_home / "embedded", making)
    if isinstance(model, str) and model.startswith(hub_download.PREFIX):
        repository = hub_download.HubModel.parse(model)
        return hub_download.download(repository, weights_home, making)
    path = Path(model).expanduser()
    if path.is_file() and path.name == CHAT_CONFIG:
        path = path.parent
    if not path.exists() and (kept := _kept_folder(str(model))) is not None:
        return kept
    _require_model(path)
    return path.absolute()


def _kept_folder(name: str) -> Path | None:
    """The converted model of that name, as `mlc_llm list` shows it: the one that was used last."""
    if not re.fullmatch(r"[\w.-]+", name):
        return None
    folder = home() / "model_weights" / "converted"
    key = re.compile(re.escape(name) + r"(-[^-]+)?-[0-9a-f]{12}-MLC")
    found = [path for path in folder.glob(f"{name}-*-MLC") if key.fullmatch(path.name)]
    return max(found, key=_last_use, default=None)


def _last_use(folder: Path) -> float:
    mark = folder / LAST_USE
    return mark.stat().st_mtime if mark.exists() else 0.0


def _require_model(path: Path) -> None:
    if path.is_dir():
        if not (path / CHAT_CONFIG).is_file() and not (path / "config.json").is_file():
            raise NotFoundError(
                f"{path}: neither {CHAT_CONFIG} nor config.json is in this folder", param="model"
            )
    elif not path.is_file():
        raise NotFoundError(
            f"{path}: no such model; give a folder, a .gguf file, {hub_download.PREFIX}org/repo or "
            f"'{DEFAULT_MODEL}'",
            param="model",
        )
    elif path.suffix != ".gguf":
        raise InvalidRequestError(
            f"{path}: a model file must be a .gguf file; for others give the folder", param="model"
        )


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


def _identity(path: Path, steps: Steps) -> Any:
    """What changes when the model does, and nothing else: the files' contents, or a download's
    commit."""
    commit = hub_download.commit_of(path)
    if commit is not None:
        return commit
    memory = home() / "content"
    if path.is_file():
        return content.hash_of(path, memory, steps)
    return content.hashes_of(path, hub_download.ORDINARY_FILES, memory, steps)


def _name(model: str | Path | None) -> str:
    """A short name for folders and answers."""
    if _meant(model) is None:
        return embedded_model.NAME
    text = str(model).removeprefix(hub_download.PREFIX).partition(":")[0].rstrip("/")
    path = Path(text)
    stem = path.stem if path.suffix == ".gguf" else path.absolute().name
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in stem) or "model"


def _device(device: str) -> str:
    """`cuda:0` -> `cuda`; `auto` is decided before, and means the CPU here."""
    kind = device.partition(":")[0]
    return "cpu" if kind == "auto" else kind


def _nothing() -> None: ...
