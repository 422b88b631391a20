"""What Ollama's clients ask about models: which there are, what one is, to get or remove one."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from mlc_llm.errors import MLCError, UnsupportedError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare.kept import find_kept, remove
from mlc_llm.prepare.model_folder import chat_template
from mlc_llm.prepare.model_source import resolve_model
from mlc_llm.prepare.progress import Steps
from mlc_llm.sdk.core_engine import CoreEngine, choose_device
from mlc_llm.sdk.sampling_gen import SAMPLING_NUMBERS
from mlc_llm.serve.loading import LoadingSteps
from mlc_llm.serve.long_work import DOWNLOADS, run_long
from mlc_llm.serve.model_names import require_path
from mlc_llm.serve.ollama_answer import line
from mlc_llm.serve.ollama_request import plain_name
from mlc_llm.serve.registry import ModelRegistry
from mlc_llm.serve.slot import ServedModel, Slot

_NEVER = "2318-01-01T00:00:00Z"  # as Ollama writes that a model stays
_LAST_TIME = 1e10  # seconds since 1970 that a date can have
_HUBS = ("hf.co/", "huggingface.co/")
_LOOK_SECONDS = 0.2  # between two looks at the progress of a download
# A conversation, texts and a gap that are wrong: a model that cannot do it says so first.
_PROBES: dict[str, tuple[str, dict[str, Any]]] = {
    "completion": ("chat.completions", {"messages": []}),
    "embedding": ("embeddings", {}),
    "insert": ("completions", {"prompt": [1], "suffix": "x"}),
}
# GGUF's names of sizes, and the config's.
_SIZES = {
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "vocab_size": "vocab_size",
}


def tag(slot: Slot, name: str) -> dict[str, Any]:
    """An entry of `/api/tags`. Of a model that is not loaded only names are known."""
    if (served := slot.served) is not None:  # another thread may unload it
        return _loaded_tag(served, name)
    is_file = slot.spec.argument.endswith(".gguf")
    return {
        "name": f"{name}:latest",
        "model": f"{name}:latest",
        "modified_at": _time(slot.created),
        "size": _size(Path(slot.spec.argument)),
        "digest": hashlib.sha256(slot.spec.argument.encode()).hexdigest(),
        "details": _no_details("gguf" if is_file else "mlc"),
    }


def _size(path: Path) -> int:
    """Of a file, or of the files in a folder; 0 if it is not here."""
    try:
        files = [path] if path.is_file() else list(path.iterdir())
        return sum(file.stat().st_size for file in files if file.is_file())
    except (OSError, ValueError):
        return 0


def _no_details(kind: str) -> dict[str, Any]:
    return {
        "parent_model": "",
        "format": kind,
        "family": "",
        "families": [],
        "parameter_size": "",
        "quantization_level": "",
    }


def _loaded_tag(model: ServedModel, name: str) -> dict[str, Any]:
    # The folder may be gone meanwhile.
    folder = Path(model.engine.model.folder)
    config = json.dumps(model.engine.model.config, sort_keys=True).encode()
    return {
        "name": f"{name}:latest",
        "model": f"{name}:latest",
        "modified_at": _time(model.created),
        "size": _size(folder),
        "digest": hashlib.sha256(config).hexdigest(),
        "details": _details(model),
    }


def running(slot: Slot, model: ServedModel) -> dict[str, Any]:
    """An entry of `/api/ps`."""
    size, at = model.num_bytes, slot.idle_at()
    stays = slot.idle_timeout if at is None else max(0.0, at - time.monotonic())
    return {
        **_loaded_tag(model, model.name),
        "size": size,
        "expires_at": _NEVER if slot.stays or stays is None else _expiry(stays),
        "size_vram": 0 if model.engine.device.startswith(("cpu", "fake")) else size,
        "context_length": model.abilities.context_window_size,
    }


def show(model: ServedModel) -> dict[str, Any]:
    """Everything about a model."""
    config, folder = model.engine.model.config, Path(model.engine.model.folder)
    inner = config.get("model_config")
    sizes = {**config, **(inner if isinstance(inner, Mapping) else {})}
    family = _family(model)
    info: dict[str, Any] = {"general.architecture": family, "general.basename": model.name}
    info[f"{family}.context_length"] = model.abilities.context_window_size
    info |= {f"{family}.{name}": sizes[key] for name, key in _SIZES.items() if key in sizes}
    template = chat_template(folder, config)
    given = {name: config[name] for name in SAMPLING_NUMBERS if config.get(name) is not None}
    return {
        "modelfile": "",
        "parameters": "\n".join(f"{name} {value}" for name, value in given.items()),
        "template": template,
        "details": _details(model),
        "model_info": info,
        "capabilities": _capabilities(model, template),
        "modified_at": _time(model.created),
    }


def _details(model: ServedModel) -> dict[str, Any]:
    size = re.search(r"(?<![\d.])(\d+(?:\.\d+)?)\s?([mb])(?![a-z])", model.name.lower())
    kind = "gguf" if model.argument.endswith(".gguf") else "mlc"
    return {
        **_no_details(kind),
        "family": _family(model),
        "families": [_family(model)],
        "parameter_size": "".join(size.groups()).upper() if size else "",
        "quantization_level": model.engine.model.quantization,
    }


def _family(model: ServedModel) -> str:
    return str(model.engine.model.config.get("model_type") or "unknown")


def _capabilities(model: ServedModel, template: str) -> list[str]:
    found = [name for name, probe in _PROBES.items() if _can(model.engine, *probe)]
    if "completion" in found:
        found.append("tools")  # the engine writes a prompt for them where the template does not
        found += ["thinking"] if "think" in template else []
        found += ["vision"] if model.abilities.takes_pictures else []
    return found


def _can(engine: CoreEngine, route: str, request: dict[str, Any]) -> bool:
    try:
        engine.call(route, request)
    except UnsupportedError:
        return False
    except MLCError:
        return True
    raise AssertionError(f"the core took an empty request for {route}")


def _expiry(seconds: float) -> str:
    """The time in so many seconds."""
    at = time.time() + seconds
    return _time(at) if at < _LAST_TIME else _NEVER


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat().replace("+00:00", "Z")


def named(asked: Mapping[str, Any]) -> str:
    """The model that a request is about. Raises MLCError if it names none."""
    name = plain_name(asked.get("model") or asked.get("name"))
    if not name:
        raise error_of(
            reasons.MISSING_REQUIRED_PARAMETER,
            "Missing required parameter: 'model'.",
            param="model",
        )
    require_path(name, "model")
    return name


async def pull(name: str) -> AsyncIterator[bytes]:
    """Downloads, converts and compiles a model; lines tell the progress. Raises MLCError."""
    for hub in _HUBS:
        name = name.replace(hub, "HF://", 1) if name.startswith(hub) else name
    steps = LoadingSteps(Steps())
    work = asyncio.ensure_future(run_long(DOWNLOADS, lambda: _make(name, steps)))
    yield line({"status": "pulling manifest"})
    last = None
    while not work.done():
        await asyncio.wait({work}, timeout=_LOOK_SECONDS)
        state = steps.state()
        if state is not None and state != last:
            done = int(1000 * state[1])
            yield line({"status": state[0], "total": 1000, "completed": done})
        last = state
    work.result()
    yield line({"status": "success"})


def _make(name: str, steps: LoadingSteps) -> None:
    resolve_model(name, quantization=None, device=choose_device("auto", steps), progress=steps)


def delete(models: ModelRegistry, name: str) -> None:
    """Removes a kept model; one that is loaded is unloaded first. Raises MLCError if it is not
    kept."""
    slot = next((slot for slot in models.known() if slot.spec.answers_to(name)), None)
    kept = find_kept([name if slot is None or not slot.given else slot.spec.argument])
    if slot is not None:
        models.unload(slot.name)
    for model in kept:
        remove(model)
