"""The cache of what is made just in time: converted weights and compiled model libraries.

Everything lies under MLC_LLM_HOME and is found again by a key made of all that matters. Making is
left to child processes, so that this side never loads the toolchain; a file lock keeps two
processes from making the same thing, and results appear by a rename.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from mlc_llm import errors
from mlc_llm.errors import (
    InternalError,
    InvalidRequestError,
    MLCError,
    NotFoundError,
    ResourceError,
)

Log = Callable[[str], None]

# Part of the key of converted weights. Raise it when the converter's output changes: other edits of
# the toolchain must not make every model anew.
CONVERTED_FORMAT = 2

_POLICIES = ("ON", "OFF", "REDO", "READONLY")
_TRAILER_BYTES = 24  # "MLCLIB01", the length before it, its hash: see ARCHITECTURE.md
_TRAILER_MAGIC = b"MLCLIB01"
_ERROR = "Error: "  # how the command line begins its message


@dataclass(frozen=True, kw_only=True)
class Policies:
    """What may be taken from the cache and what may be made."""

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
    if named := os.environ.get("MLC_LLM_HOME"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "mlc_llm"


def converted_folder(
    source: Path,
    *,
    name: str,
    identity: Any,
    quantization: str,
    sampling: Mapping[str, float],
    policy: str,
    log: Log,
) -> Path:
    """The `-MLC` folder of a model in another format. `sampling`: defaults that its config gets."""
    key = _digest([identity, quantization, sampling, CONVERTED_FORMAT])
    folder = home() / "model_weights" / "converted" / f"{name}-{quantization}-{key[:12]}-MLC"
    with _made(folder, policy, _is_whole_folder, what=f"converted weights of {source}") as missing:
        if missing:
            log(f"Converting {source} to {quantization}: {folder}")
            _run_job(
                {
                    "source": str(source),
                    "output": str(folder),
                    "quantization": quantization,
                    "sampling": sampling,
                }
            )
        else:
            log(f"Using converted weights: {folder}")
    return folder


def model_library(
    folder: Path, config: Mapping[str, Any], *, device: str, options: LibraryOptions,
    policy: str, log: Log,
) -> Path:  # fmt: skip
    """The compiled model library for an `-MLC` folder."""
    key = _digest([_library_config(config), device, options.key(), _toolchain(), _host()])
    library = home() / "model_lib" / f"{key}.so"
    with _made(library, policy, _is_whole_library, what=f"model library of {folder}") as missing:
        if missing:
            _compile(folder, library, device=device, options=options, log=log)
        else:
            log(f"Using cached model lib: {library}")
    return library


@dataclass(frozen=True, kw_only=True)
class LibraryOptions:
    """What changes the library besides the model: `--opt` and `--overrides`."""

    opt: str = "O2"
    overrides: Mapping[str, int] | None = None

    def key(self) -> list[Any]:
        return [self.opt, sorted((self.overrides or {}).items())]

    def arguments(self) -> list[str]:
        text = ";".join(f"{name}={value}" for name, value in sorted((self.overrides or {}).items()))
        return ["--opt", self.opt, *(["--overrides", text] if text else [])]


@contextlib.contextmanager
def _made(
    path: Path, policy: str, is_whole: Callable[[Path], bool], *, what: str
) -> Generator[bool]:
    """Yields whether `path` has to be made, holding its lock if so."""
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
    with home_errors_named(path), locked(path):
        missing = policy == "REDO" or not is_whole(path)
        if missing and path.is_dir():
            shutil.rmtree(path)
        yield missing


@contextlib.contextmanager
def locked(path: Path) -> Generator[None]:
    """Holds the lock of a cache entry."""
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        yield


@contextlib.contextmanager
def home_errors_named(path: Path) -> Generator[None]:
    """Turns failures of the file system into an error that names the setting."""
    try:
        yield
    except (OSError, NotImplementedError) as error:
        raise ResourceError(
            f"{path}: {error}; set MLC_LLM_HOME to a folder that can be written",
            param="MLC_LLM_HOME",
        ) from None


def _is_whole_folder(folder: Path) -> bool:
    """All files that the index names are there with their sizes."""
    try:
        index = json.loads((folder / "tensor-cache.json").read_text())
        shards = {record["dataPath"]: record["nbytes"] for record in index["records"]}
        sizes = {name: (folder / name).stat().st_size for name in shards}
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return sizes == shards and (folder / "mlc-chat-config.json").is_file()


def _is_whole_library(path: Path) -> bool:
    """The trailer is there and counts the bytes before it (the core checks their hash at load)."""
    try:
        with path.open("rb") as file:
            length = file.seek(-_TRAILER_BYTES, os.SEEK_END)
            trailer = file.read(_TRAILER_BYTES)
    except OSError:
        return False
    return trailer[:8] == _TRAILER_MAGIC and int.from_bytes(trailer[8:16], "little") == length


def _library_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The part of mlc-chat-config.json that a library depends on."""
    names = [
        "model_type",
        "quantization",
        "weight_types",
        "model_config",
        "vocab_size",
        "context_window_size",
    ]
    names += ["sliding_window_size", "prefill_chunk_size", "attention_sink_size"]
    names += ["tensor_parallel_shards", "pipeline_parallel_stages", "max_batch_size"]
    return {name: config[name] for name in names if name in config}


def _digest(parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


@cache
def _toolchain() -> list[Any]:
    """What identifies the compiler: our sources and TVM's version."""
    folder = Path(__file__).parent / "compiler"
    stats = [(str(path.relative_to(folder)), path.stat()) for path in folder.rglob("*.py")]
    sources = sorted([name, stat.st_size, stat.st_mtime_ns] for name, stat in stats)
    return [sources, _version("apache-tvm"), _version("apache-tvm-ffi")]


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


@cache
def _host() -> list[str]:
    """The processor: a library may use its instructions."""
    lines: list[str] = []
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        wanted = ("model name", "flags", "Features", "CPU part")
        lines = [line.strip() for line in file if line.startswith(wanted)]
    return [platform.system(), platform.machine(), *dict.fromkeys(lines)]


def _compile(
    folder: Path, library: Path, *, device: str, options: LibraryOptions, log: Log
) -> None:
    with tempfile.TemporaryDirectory(prefix=".compile-", dir=library.parent) as work:
        output = Path(work) / "lib.so"
        command = ["mlc_llm", "compile", str(folder), "--device", device, *options.arguments()]
        log(f"Compiling: {' '.join(command)}")
        tail = _run_module([*command, "--output", str(output)], log)
        if not output.is_file():
            lines = tail.strip().splitlines() or ["no message"]
            raise InternalError(
                f"compiling {folder} failed: {lines[-1].removeprefix(_ERROR)}",
                param="model_lib",
                code="compile_failed",
            )
        output.replace(library)
    log(f"Using compiled model lib: {library}")


def _run_module(arguments: list[str], log: Log) -> str:
    """Runs `python -m ...`, hands its standard error on line by line and returns the end of it."""
    child = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        env=_child_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    tail = ""
    assert child.stderr is not None
    with _killed_on_error(child):
        for line in child.stderr:
            if not line.startswith(_ERROR):  # that one is raised
                log(line.rstrip("\n"))
            tail = (tail + line)[-4096:]
        child.wait()
    return tail


def _run_job(job: dict[str, Any]) -> None:
    """Runs a conversion in a child; its progress bar goes to our terminal, its error is ours."""
    child = subprocess.Popen(
        [sys.executable, "-m", "mlc_llm.compiler.jit", json.dumps(job)],
        env=_child_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    with _killed_on_error(child):
        answer, _ = child.communicate()
    if child.returncode != 0:
        raise _error_of(answer, child.returncode)


def _error_of(answer: str, returncode: int) -> MLCError:
    """The child's typed error, or one that says how it ended."""
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
        fields = json.loads(answer.strip().splitlines()[-1])
        kind: type[MLCError] = getattr(errors, fields["class"])
        return kind(fields["message"], param=fields["param"], code=fields["code"])
    return InternalError(f"the conversion ended with status {returncode}", param="model")


@contextlib.contextmanager
def _killed_on_error(child: subprocess.Popen[str]) -> Generator[None]:
    """Takes the child along when this side is interrupted."""
    try:
        yield
    except BaseException:
        child.kill()
        child.wait()
        raise


def _child_environment() -> dict[str, str]:
    """Ours, with this very package found first."""
    package_parent = str(Path(__file__).parent.parent)
    paths = [package_parent, os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
