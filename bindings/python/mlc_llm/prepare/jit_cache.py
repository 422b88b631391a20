"""The cache of converted weights and compiled model libraries.

Everything is in MLC_LLM_HOME. Its key depends on the content of all inputs, so a home that was
moved keeps its entries. Child processes do the work, so this process never loads the toolchain. A
file lock prevents two processes from making the same thing. Results appear by a rename.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mlc_llm.errors import InvalidRequestError, NotFoundError, error_of
from mlc_llm.errors import reasons_gen as reasons
from mlc_llm.prepare.content_hash import OTHER_OS_ERRORS
from mlc_llm.prepare.jit_child import Children, run_job
from mlc_llm.prepare.kept_library import is_whole_library, mark_library
from mlc_llm.prepare.progress import Steps
from mlc_llm.prepare.temporary_files import locked, remove_leftovers, scratch_folder

# A part of the key of converted weights. Raise it when the converter's output changes. Other edits
# of the toolchain then do not convert every model again.
CONVERTED_FORMAT = 11

_POLICIES = ("ON", "OFF", "REDO", "READONLY")
TakeConfig = Callable[[Path, Mapping[str, Any]], None]  # gets a folder and its config
LAST_USE = ".last-use"  # a file in a folder of weights; its time is the last use


@dataclass(frozen=True, kw_only=True)
class Policies:
    """What may be taken from the cache, and what may be made."""

    jit: str = "ON"
    download: str = "ON"

    @classmethod
    def from_environment(cls) -> Policies:
        return cls(jit=_policy("MLC_JIT_POLICY"), download=_policy("MLC_DOWNLOAD_CACHE_POLICY"))


def _policy(variable: str) -> str:
    value = os.environ.get(variable, "ON").upper()
    if value not in _POLICIES:
        raise InvalidRequestError(
            f"{variable}={value}: must be one of {', '.join(_POLICIES)}", param=variable
        )
    return value


def home() -> Path:
    """MLC_LLM_HOME, or `mlc_llm` in the user's cache folder."""
    try:
        if named := os.environ.get("MLC_LLM_HOME"):
            return Path(named).expanduser().absolute()
        base = os.environ.get("XDG_CACHE_HOME")
        return (Path(base) if base else Path.home() / ".cache") / "mlc_llm"
    except RuntimeError:  # there is no such user, or it has no folder
        raise InvalidRequestError(
            "the user's folder is not known: set MLC_LLM_HOME to a folder that can be written",
            param="MLC_LLM_HOME",
        ) from None


@dataclass(frozen=True, kw_only=True)
class MakeRules:
    """The rules for making things: what is allowed, who gets the progress, what is checked before
    any work, and the child processes that end together."""

    policies: Policies
    steps: Steps = field(default_factory=Steps)
    check: Callable[[], object] = lambda: None
    children: Children = field(default_factory=Children)


def clean_home() -> None:
    """Removes the files of killed processes."""
    weights = home() / "model_weights"
    for folder in (home() / "model_lib", weights / "converted", weights / "embedded"):
        remove_leftovers(folder)


def converted_folder(
    source: Path, *, projector: Path | None = None, needs_tower: bool = False,
    text_alone: bool = False, name: str, origin: str, identity: Any,
    quantization: str, fallback: str | None, extra: Mapping[str, Any], rules: MakeRules,
    take_config: TakeConfig | None = None,
) -> Path:  # fmt: skip
    """The `-MLC` folder of a model in another format.

    `projector`: the file of a GGUF model's tower, which `needs_tower` says must be of a known kind.
    `text_alone`: a folder's own tower is left out.
    `fallback`: the quantization of a file whose own types have no kernels. `extra`: additional
    fields of the folder's config. `origin`: the user's name of the model. `take_config` gets the
    folder and its config while the weights are being converted (nothing if the folder exists).
    """
    parts = [identity, quantization, extra, CONVERTED_FORMAT, *_families()]
    folder = _converted(name, quantization, parts)
    if projector and needs_tower and _reads_texts_alone(folder):
        folder = _converted(name, quantization, [*parts, "tower"])  # its conversion says why
    if text_alone and not _reads_texts_alone(folder):
        folder = _converted(name, quantization, [*parts, "text"])
    steps = rules.steps
    what = f"the converted weights of {name}"
    with _made(folder, rules, _is_whole_folder, what=what) as missing:
        if missing:
            steps.detail(f"Converting {source} to {quantization}: {folder}")
            job: dict[str, Any] = {"kind": "convert", "source": str(source), "output": str(folder)}
            job |= {"quantization": quantization, "fallback": fallback, "extra": dict(extra)}
            job |= {"projector": str(projector), "needs_tower": needs_tower} if projector else {}
            job |= {"text_alone": text_alone}
            _convert(job, f"Converting {name} to {types_said(quantization)}", rules, take_config)
        else:
            steps.detail(f"Using converted weights: {folder}")
    mark_used(folder / LAST_USE, {"model": origin})
    return folder


def _converted(name: str, quantization: str, parts: Any) -> Path:
    key = _digest(parts)[:12]
    return home() / "model_weights" / "converted" / f"{name}-{quantization}-{key}-MLC"


def _reads_texts_alone(folder: Path) -> bool:
    """Whether a kept conversion has no tower."""
    if not _is_whole_folder(folder):
        return False
    return "pictures" not in json.loads((folder / "mlc-chat-config.json").read_text())


def _convert(
    job: dict[str, Any], title: str, rules: MakeRules, take_config: TakeConfig | None
) -> None:
    folder = Path(job["output"])

    def take(config: Mapping[str, Any]) -> None:
        if take_config is not None:
            take_config(folder, config)

    try:
        run_job(job, title, rules.steps, children=rules.children, take_config=take)
    except BaseException:
        remove_leftovers(folder.parent, folder.name)  # the child may have been killed
        raise


def types_said(quantization: str) -> str:
    """The name of a quantization for people."""
    own = {"auto": "its own types", "auto_wide": "its own types in their larger form"}
    return own.get(quantization, quantization)


def model_library(
    folder: Path, config: Mapping[str, Any], *, name: str, device: str, options: LibraryOptions,
    rules: MakeRules,
) -> Path:  # fmt: skip
    """The compiled model library for an `-MLC` folder with this config. The folder need not exist
    yet. `name` is the model's name in messages."""
    library = library_path(config, device=device, options=options)
    what = f"the model library of {name}"
    with _made(library, rules, is_whole_library, what=what) as missing:
        if missing:
            rules.steps.detail(f"Compiling {folder} for {device}, --opt {options.opt}")
            _compile(config, library, name=name, device=device, options=options, rules=rules)
        else:
            rules.steps.detail(f"Using cached model lib: {library}")
    mark_library(library, folder, device, is_new=missing)
    return library


def library_path(config: Mapping[str, Any], *, device: str, options: LibraryOptions) -> Path:
    """Where the model library of a config is kept."""
    key = _digest([_library_config(config), device, options.key(), _toolchain(), _host()])
    return home() / "model_lib" / f"{key}.so"


def packaged_library(
    folder: Path, config: Mapping[str, Any], *, name: str, device: str, host: str | None,
    prefix: str | None, options: LibraryOptions, rules: MakeRules,
) -> Path:  # fmt: skip
    """The library of a model for an app (`mlc_llm package`): an archive with that `prefix`, or a
    shared library without one. The key has no CPU: the code is for the device that is named."""
    parts = [_library_config(config), device, host, prefix, options.key(), _toolchain()]
    shared = ".wasm" if host == "wasm32" or device == "wasm" else ".so"
    library = home() / "model_lib" / (_digest(parts) + (shared if prefix is None else ".tar"))
    is_whole = is_whole_library if prefix is None else _is_whole_archive
    with _made(library, rules, is_whole, what=f"the model library of {name}") as missing:
        if missing:
            job = {"host": host, "system_lib_prefix": prefix}
            rules.steps.detail(f"Compiling {folder} for {device}, --opt {options.opt}")
            _compile(
                config, library, name=name, device=device, options=options, rules=rules, job=job
            )
        else:
            rules.steps.detail(f"Using cached model lib: {library}")
    mark_library(library, folder, device, is_new=missing)
    return library


def library_digest(config: Mapping[str, Any], options: LibraryOptions) -> str:
    """32 digits that are the same for the same model and settings."""
    text = json.dumps([_library_config(config), options.key()], sort_keys=True)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _is_whole_archive(path: Path) -> bool:
    """It appears by a rename, so it is whole if it is there."""
    return path.is_file() and path.stat().st_size > 0


def mark_used(mark: Path, said: Mapping[str, Any] | None = None) -> None:
    """Records the time of a use in a file `mark`. `said` is written when the mark is new."""
    with contextlib.suppress(OSError):
        if mark.exists():
            os.utime(mark)
        else:
            mark.write_text(json.dumps(said or {}))


@dataclass(frozen=True, kw_only=True)
class LibraryOptions:
    """The settings of a library besides the model: `--opt`, `--overrides`, `--kv-cache-dtype`."""

    opt: str = "O2"
    overrides: Mapping[str, int] | None = None
    kv_cache_dtype: str | None = None
    adapters: bool = False  # whether requests may choose them

    def key(self) -> list[Any]:
        own: list[Any] = [self.kv_cache_dtype] if self.kv_cache_dtype else []
        own += ["adapters"] if self.adapters else []
        return [self.opt, sorted((self.overrides or {}).items()), *own]

    def overrides_text(self) -> str:
        """The overrides in the form of `mlc_llm compile --overrides`."""
        return ";".join(f"{name}={value}" for name, value in sorted((self.overrides or {}).items()))


@contextlib.contextmanager
def _made(
    path: Path, rules: MakeRules, is_whole: Callable[[Path], bool], *, what: str
) -> Generator[bool]:
    """Yields whether `path` must be made. If so, it holds the lock."""
    policy = rules.policies.jit
    if policy == "OFF":
        raise NotFoundError(
            f"{what}: MLC_JIT_POLICY=OFF forbids conversion and compilation; give a prepared -MLC "
            "folder and --model-lib",
            param="model_lib",
        )
    if policy != "REDO" and is_whole(path):
        yield False
        return
    if policy == "READONLY":
        raise NotFoundError(
            f"{what}: not in the cache ({path}), and MLC_JIT_POLICY=READONLY forbids making it",
            param="model_lib",
        )
    rules.check()
    with home_errors_named(path), locked(path, rules.steps, what, rules.children.check):
        missing = policy == "REDO" or not is_whole(path)
        if missing and path.is_dir():
            shutil.rmtree(path)
        yield missing


@contextlib.contextmanager
def home_errors_named(path: Path) -> Generator[None]:
    """Turns errors of the file system into an error that names the setting."""
    try:
        yield
    except OTHER_OS_ERRORS:
        raise
    except (OSError, NotImplementedError) as error:
        full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
        advice = "make room, or set MLC_LLM_HOME to another place"
        if not full:
            advice = "set MLC_LLM_HOME to a folder that can be written"
        reason = getattr(error, "strerror", None) or error
        raise error_of(
            reasons.DISK_FULL if full else reasons.HOME_NOT_WRITABLE,
            f"{path}: {reason}; {advice}",
            param="MLC_LLM_HOME",
        ) from None


def _is_whole_folder(folder: Path) -> bool:
    """Whether all files that the index names exist with their sizes."""
    try:
        index = json.loads((folder / "tensor-cache.json").read_text())
        shards = {record["dataPath"]: record["nbytes"] for record in index["records"]}
        sizes = {name: (folder / name).stat().st_size for name in shards}
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return False
    return sizes == shards and (folder / "mlc-chat-config.json").is_file()


def _library_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The part of mlc-chat-config.json that a library depends on."""
    names = [
        "model_type",
        "quantization",
        "weight_types",
        "tower_quantization",
        "activation_bits",
        "kv_cache_dtype",
        "draft",
        "model_config",
        "vocab_size",
        "context_window_size",
    ]
    names += ["sliding_window_size", "prefill_chunk_size", "attention_sink_size"]
    names += ["tensor_parallel_shards", "pipeline_parallel_stages", "max_batch_size"]
    names += ["draft_vocab_size"]
    return {name: config[name] for name in names if name in config}


def _digest(parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


@cache
def _toolchain() -> list[Any]:
    """The identity of the compiler: our sources and TVM's version."""
    folder = Path(__file__).parents[1] / "compiler"
    sources = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        if not name.startswith("convert/"):  # it makes weights, not libraries
            sources.update(f"{name} {path.stat().st_size}\n".encode() + path.read_bytes())
    return [
        sources.hexdigest(),
        _version("tvm", "apache_tvm"),
        _version("tvm_ffi", "apache_tvm_ffi"),
        *_families(),
    ]


@cache
def _families() -> list[str]:
    """The identity of the packages that add to the compiler (`compiler/outside.py`)."""
    from mlc_llm.compiler import outside

    return outside.identity()


def _version(package: str, distribution: str) -> str | None:
    """The version of an installed package, from its folder's name: `importlib.metadata` is slow to
    load."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    site = Path(spec.origin).parent.parent
    found = next(site.glob(f"{distribution}-*.dist-info"), None)
    return found.name if found else str(os.stat(spec.origin).st_mtime_ns)


@cache
def _host() -> list[str]:
    """The CPU, because a library may use its instructions."""
    lines: list[str] = []
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        wanted = ("model name", "flags", "Features", "CPU part")
        lines = [line.strip() for line in file if line.startswith(wanted)]
    return [platform.system(), platform.machine(), *dict.fromkeys(lines)]


def _compile(
    config: Mapping[str, Any], library: Path, *, name: str, device: str, options: LibraryOptions,
    rules: MakeRules,
    job: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """`job`: more fields of the child's job."""
    with scratch_folder(library) as work:
        read, output = work / "mlc-chat-config.json", work / f"lib{library.suffix}"
        read.write_text(json.dumps(config))
        whole: dict[str, Any] = {"kind": "compile", "config": str(read), "output": str(output)}
        whole["device"] = device
        whole |= {"opt": options.opt, "overrides": options.overrides_text()}
        whole |= {"kv_cache_dtype": options.kv_cache_dtype, "adapters": options.adapters}
        whole |= job or {}
        run_job(whole, f"Compiling {name} for {device}", rules.steps, children=rules.children)
        output.replace(library)
    rules.steps.detail(f"Using compiled model lib: {library}")
