"""What a model argument means, and how it becomes a folder and a library that the core can load.

    resolved = resolve_model("HF://org/repo", device="cpu")
    resolved.folder, resolved.model_lib

A model argument is `HF://org/repo[:revision]` (a prepared `-MLC` repository or an ordinary one), a
local folder of either kind, a `.gguf` file, or None: the embedded default model. What is missing is
made just in time and kept under MLC_LLM_HOME. Nothing here imports the toolchain.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mlc_llm import embedded_model, hub_download
from mlc_llm.errors import CorruptFileError, InvalidRequestError, NotFoundError
from mlc_llm.jit_cache import LibraryOptions, Policies, converted_folder, home, model_library

_CHAT_CONFIG = "mlc-chat-config.json"

# A script of the core's answers in place of a model: for tests and benchmarks.
FAKE_DEVICE = "fake"

# A quantization: a GGUF file keeps the types that it has; other models get the default.
OWN_TYPES = "auto"

Log = Callable[[str], None]


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
    progress: Log | None = None,
) -> ResolvedModel:
    """Finds a model, downloads, converts and compiles what is missing.

    `quantization` applies to a model that is converted; a prepared folder has its own and another
    one is refused. `progress` gets one line a step (default: standard error).
    """
    policies = policies or Policies.from_environment()
    log = _to_stderr if progress is None else progress
    folder = resolve_folder(
        model, quantization=quantization, device=device, policies=policies, progress=log
    )
    config = read_chat_config(folder)
    if device == FAKE_DEVICE:
        library = Path()
    elif model_lib is not None:
        library = Path(model_lib)
        if not library.is_file():
            raise NotFoundError(f"{library}: no such model library", param="model_lib")
    else:
        options = LibraryOptions(opt=opt, overrides=overrides)
        library = model_library(
            folder, config, device=_device(device), options=options, policy=policies.jit, log=log
        )
    name = _name(model)
    return ResolvedModel(folder=folder, model_lib=library, config=config, name=name)


def resolve_folder(
    model: str | Path | None,
    *,
    quantization: str | None = None,
    device: str = "cpu",
    policies: Policies | None = None,
    progress: Log | None = None,
) -> Path:
    """The `-MLC` folder of a model argument."""
    policies = policies or Policies.from_environment()
    log = _to_stderr if progress is None else progress
    path = _local_path(model, policies, log)
    if (path / _CHAT_CONFIG).is_file():
        _require_same_quantization(path, quantization)
        return path
    return converted_folder(
        path,
        name=_name(model),
        identity=_identity(path),
        quantization=_quantization(path, quantization, device),
        sampling=embedded_model.SAMPLING if model is None else {},
        policy=policies.jit,
        log=log,
    )


def default_quantization(device: str) -> str:
    """What a model is converted to when nobody says."""
    return "q4f32_1" if _device(device) in ("cpu", FAKE_DEVICE) else "q4f16_1"


def _quantization(path: Path, asked: str | None, device: str) -> str:
    if asked is None or (asked == OWN_TYPES and path.suffix != ".gguf"):
        return default_quantization(device)
    return asked


def read_chat_config(folder: Path) -> dict[str, Any]:
    """The `mlc-chat-config.json` of an `-MLC` folder."""
    path = folder / _CHAT_CONFIG
    try:
        config = json.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise NotFoundError(f"{path}: {error.strerror}", param=_CHAT_CONFIG) from None
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"{path}: not valid JSON: {error}", param=_CHAT_CONFIG) from None
    if not isinstance(config, dict):
        raise CorruptFileError(f"{path}: must hold a JSON object", param=_CHAT_CONFIG)
    return cast("dict[str, Any]", config)


def _local_path(model: str | Path | None, policies: Policies, log: Log) -> Path:
    """The folder or file that the argument means, downloaded if need be."""
    if model is None:
        folder = home() / "model_weights" / "embedded"
        downloads = policies.download in ("ON", "REDO")
        return embedded_model.embedded_model_file(folder, may_download=downloads, log=log)
    if isinstance(model, str) and model.startswith(hub_download.PREFIX):
        repository = hub_download.HubModel.parse(model)
        weights_home = home() / "model_weights"
        return hub_download.download(repository, weights_home, policy=policies.download, log=log)
    path = Path(model).expanduser()
    if path.is_file() and path.name == _CHAT_CONFIG:
        path = path.parent
    _require_model(path)
    return path.absolute()


def _require_model(path: Path) -> None:
    if path.is_dir():
        if not (path / _CHAT_CONFIG).is_file() and not (path / "config.json").is_file():
            raise NotFoundError(
                f"{path}: neither {_CHAT_CONFIG} nor config.json is in this folder", param="model"
            )
    elif not path.is_file():
        raise NotFoundError(
            f"{path}: no such model; give a folder, a .gguf file or {hub_download.PREFIX}org/repo",
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


def _identity(path: Path) -> Any:
    """What changes when the model does: names, sizes and times; the commit of a download."""
    if path.is_file():
        stat = path.stat()
        return [str(path.resolve()), stat.st_size, stat.st_mtime_ns]
    commit = hub_download.commit_of(path)
    if commit is not None:
        return [str(path), commit]
    stats = [(item.name, item.stat()) for item in sorted(path.iterdir()) if item.is_file()]
    return [str(path.resolve()), [[name, s.st_size, s.st_mtime_ns] for name, s in stats]]


def _name(model: str | Path | None) -> str:
    """A short name for folders and answers."""
    if model is None:
        return embedded_model.NAME
    text = str(model).removeprefix(hub_download.PREFIX).partition(":")[0].rstrip("/")
    path = Path(text)
    stem = path.stem if path.suffix == ".gguf" else path.absolute().name
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in stem) or "model"


def _device(device: str) -> str:
    """`cuda:0` -> `cuda`; `auto` is decided before, and means the CPU here."""
    kind = device.partition(":")[0]
    return "cpu" if kind == "auto" else kind


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
