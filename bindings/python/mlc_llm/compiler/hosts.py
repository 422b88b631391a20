"""The machine for the code around the kernels, and for the code of CPU kernels, as LLVM triples.

on_host(targets.resolve("opencl:adreno"), "aarch64-linux-android")
"""

from __future__ import annotations

import platform
import re
from dataclasses import replace

from mlc_llm.compiler.targets import GPU, WASM_TRIPLE, WINDOWS_TRIPLE, Device
from mlc_llm.compiler.vector_units import NEON, SSE
from mlc_llm.errors import InvalidRequestError, UnsupportedError

# LLVM ends the process for a CPU that it does not know. So only these are passed to it.
_ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
_WASM = "wasm32"
_SYSTEMS = re.compile(r"-(linux|android|ios|macos|darwin|tvos|windows|none)")
_TRIPLE = re.compile(r"[a-z0-9_]+(-[a-z0-9_.]+){1,3}")
_UNVERSIONED = re.compile(r"-apple-(ios|macos)(?![\d.a-z])")
_OLDEST = {"ios": "16.0", "macos": "13.0"}
_EXAMPLES = (
    "aarch64-linux-android, arm64-apple-ios16.0, arm64-apple-macos13.0, x86_64-unknown-linux-gnu, "
    f"{WINDOWS_TRIPLE}, wasm32"
)


def on_host(device: Device | GPU, host: str | None) -> Device | GPU:
    """The device with code for `host`. None and "auto" keep the device's own host."""
    if host in (None, "", "auto"):
        return device
    assert host is not None
    host = WASM_TRIPLE if host == _WASM else with_version(host)
    architecture = _architecture(host)
    if isinstance(device, GPU):
        return replace(device, host=host)
    if device.mtriple:
        if _architecture(device.mtriple) != architecture:
            raise InvalidRequestError(
                f"--host {host} is not a machine of --device {device.name}", param="host"
            )
        return replace(device, mtriple=host)
    if architecture == _WASM:
        raise InvalidRequestError(
            f"--host {host} is not a machine of --device {device.name}; use --device wasm",
            param="host",
        )
    if architecture == "aarch64":
        return Device(name=device.name, mtriple=host, vectors=NEON)
    return Device(name=device.name, mtriple=host, mcpu="x86-64-v2", vectors=SSE)


def with_version(triple: str) -> str:
    """An Apple triple with the oldest system that the code is for. Without one LLVM writes no
    platform into its objects, and Apple's linker does not know where they belong."""
    return _UNVERSIONED.sub(lambda found: found[0] + _OLDEST[found[1]], triple)


def triple_of(device: Device | GPU) -> str:
    """The machine of the code; "" for this one."""
    return device.host if isinstance(device, GPU) else device.mtriple


def is_foreign(device: Device | GPU) -> bool:
    """Whether the device's code needs another linker than this machine's."""
    triple = triple_of(device)
    if not triple:
        return False
    here = _ARCHITECTURES.get(platform.machine().lower())
    systems = {"linux": "linux", "darwin": "apple", "windows": "windows"}
    system = systems.get(platform.system().lower(), "?")
    return here != _architecture(triple) or system not in triple or "android" in triple


def android_abi(device: Device | GPU) -> str | None:
    """Android's name of the device's machine, such as arm64-v8a; None for other systems."""
    triple = device.host if isinstance(device, GPU) else device.mtriple
    if not triple or "android" not in triple:
        return None
    return {"aarch64": "arm64-v8a", "x86_64": "x86_64"}[_architecture(triple)]


def is_wasm(device: Device | GPU) -> bool:
    return triple_of(device) == WASM_TRIPLE


def is_windows(device: Device | GPU) -> bool:
    return "windows" in (triple_of(device) or platform.system().lower())


def _architecture(triple: str) -> str:
    if triple == WASM_TRIPLE:
        return _WASM
    found = _ARCHITECTURES.get(triple.partition("-")[0])
    if not _TRIPLE.fullmatch(triple):
        raise InvalidRequestError(
            f'"{triple}" is no LLVM triple; examples: {_EXAMPLES}', param="host"
        )
    is_other_windows = "-windows" in triple and triple != WINDOWS_TRIPLE
    if found is None or not _SYSTEMS.search(triple) or is_other_windows:
        raise UnsupportedError(
            f"--host {triple}: there is no code for it; examples: {_EXAMPLES}", param="host"
        )
    return found
