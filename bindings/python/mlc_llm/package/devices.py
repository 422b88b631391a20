"""The devices of apps, as a table: what is compiled for each, and into which file.

A library for a phone is an archive of objects (`libmodel_iphone.a`), which the app links. Beside
kernels for a GPU it can have those for generations of CPUs, of which the engine takes one where
there is no GPU (core/src/runtime/library_names.h). For
desktops it is a shared library with the variants of their CPUs, which the engine opens by name; for
browsers it is a module of WebAssembly beside the engine's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# What its libraries are written as (`packagers.py`): a file for each, modules for web servers, or
# an archive, to which Android's packages add shared libraries.
DeviceKind = Literal["shared", "web", "archive", "android"]


@dataclass(frozen=True, kw_only=True)
class AppDevice:
    """`target`: the device of `mlc_llm compile`; `host`: its `--host`. `machine`: what the objects
    must be made for, as `objects.py` calls it. `cpus`: presets whose kernels are added."""

    name: str
    target: str
    host: str | None = None
    machine: str
    cpus: tuple[str, ...] = ()
    kind: DeviceKind = "archive"
    abi: str = ""  # Android's name of the machine
    runtime: str = ""  # the folder of its runtime, where that is another device's
    unread: tuple[str, ...] = ()  # GGUF's types that it does not read: such a file is quantized

    @property
    def is_shared(self) -> bool:
        """Whether a library is a file of its own, and not a part of an archive."""
        return self.kind in ("shared", "web")

    @property
    def takes_adapters(self) -> bool:
        """Whether its apps can open the files of LoRA adapters."""
        return self.kind != "web"

    @property
    def needs_url(self) -> bool:
        """MLC-LLM's Android app knows weights by their address alone, bundled ones too."""
        return self.kind == "android"

    @property
    def title(self) -> str:
        """What a user reads: `android (arm64-v8a)`."""
        return f"{self.name} ({self.abi})" if self.abi else self.name

    def file(self, model_lib: str) -> str:
        """The file in `dist/lib` that holds the library of that name."""
        if self.kind == "web":
            return f"{self.name}/{model_lib}.wasm"
        if self.is_shared:
            return f"{self.name}/lib{model_lib}.so"
        return f"libmodel_{self.name}.a"


def is_cpu(target: str) -> bool:
    """Whether the libraries of a `target`, or of a preset in `cpus`, have no kernels for a GPU."""
    return target not in ("iphone", "macabi", "metal", "android", "webgpu")


# The second library of a model for browsers, for those without WebGPU.
WEB_CPU = AppDevice(name="web", target="wasm", machine="wasm32", kind="web")
_X86 = "x86-64-v2,x86-64-v3,x86-64-v4"

DEVICES = {
    device.name: device
    for device in (
        AppDevice(name="iphone", target="iphone", machine="arm64 ios"),
        # For an engine without Metal (`./dev build xcframework`); every iPhone with iOS 16 runs it.
        AppDevice(
            name="iphone-cpu",
            target="aarch64",
            host="arm64-apple-ios16.0",
            machine="arm64 ios",
        ),
        AppDevice(name="macabi", target="macabi", machine="arm64 maccatalyst"),
        AppDevice(
            name="macos",
            target="metal",
            host="arm64-apple-macos13.0",
            machine="arm64 macos",
        ),
        AppDevice(
            name="macos-cpu",
            target="aarch64",
            host="arm64-apple-macos13.0",
            machine="arm64 macos",
        ),
        AppDevice(
            name="android",
            target="android",
            host="aarch64-linux-android",
            machine="aarch64 elf",
            cpus=("aarch64", "aarch64-dotprod", "aarch64-i8mm"),
            abi="arm64-v8a",
            kind="android",
        ),
        # For emulators, which have no OpenCL. Android asks of such a CPU what x86-64-v2 has.
        AppDevice(
            name="android-x86_64",
            target="x86-64-v2",
            host="x86_64-linux-android",
            machine="x86_64 elf",
            abi="x86_64",
            runtime="android",
            kind="android",
        ),
        AppDevice(name="linux", target=_X86, machine="x86_64 elf", kind="shared"),
        AppDevice(name="jvm", target=_X86, machine="x86_64 elf", kind="shared"),
        AppDevice(
            name="web",
            target="webgpu",
            host="wasm32",
            machine="wasm32",
            kind="web",
            unread=("F16", "BF16"),  # WebGPU has no bfloat16, and float16 in some browsers alone
        ),
    )
}
