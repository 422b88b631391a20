"""The user's options of a compilation: `--opt` and `--overrides`, in MLC-LLM's notation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mlc_llm.compiler import stages
from mlc_llm.compiler.models import mlc_folders
from mlc_llm.compiler.targets import GPU, Device
from mlc_llm.errors import InvalidRequestError
from mlc_llm.errors.nearest import did_you_mean

OVERRIDABLE = (
    "context_window_size",
    "sliding_window_size",
    "prefill_chunk_size",
    "attention_sink_size",
    "max_batch_size",
    "tensor_parallel_shards",
    "draft_vocab_size",
)
_ALIASES = {"max_num_sequence": "max_batch_size"}


@dataclass(frozen=True)
class OptimizationFlags:
    """Library calls that a GPU build may use instead of compiled kernels. A CPU build has none.
    Flags without any such library are accepted, and `notes` says so.

    `activation_bits` is the precision of activations that are multiplied with quantized weights. On
    the CPU, 8 bits are what other engines use; 16 bits are as good as floats, but half as fast for
    prompts; 32 means floats. GPUs compute in floats; there 32 keeps the devices with `half_rows`
    (`targets.py`) from using 16-bit floats.
    """

    flashinfer: bool = False
    cublas_gemm: bool = False
    faster_transformer: bool = False
    cudagraph: bool = False
    cutlass: bool = False
    activation_bits: int = 8

    @classmethod
    def parse(cls, text: str) -> OptimizationFlags:
        """Parses `O0` to `O3`, or `flashinfer=0;activation_bits=8;...`."""
        if text in LEVELS:
            return LEVELS[text]
        flags = cls()
        for name, value in parse_assignments(text, what="--opt").items():
            if name not in cls.__dataclass_fields__:
                known = ", ".join(cls.__dataclass_fields__)
                raise InvalidRequestError(f"--opt: unknown flag {name}; available: {known}")
            allowed = (8, 16, 32) if name == "activation_bits" else (0, 1)
            if value not in allowed:
                offered = " or ".join(map(str, allowed))
                raise InvalidRequestError(f"--opt: {name} must be {offered}, not {value}")
            flags = replace(flags, **{name: type(getattr(flags, name))(value)})
        return flags

    def applied_to(self, device: Device | GPU) -> Device | GPU:
        """The device with the libraries that these flags allow."""
        if not isinstance(device, GPU):
            return device
        gemm = device.gemm if self.cublas_gemm else None
        return replace(device, gemm=gemm, graphs=device.graphs and self.cudagraph)

    def idle_on(self, device: Device | GPU) -> dict[str, str]:
        """The flags that are set but change nothing on the device, with the reason."""
        idle = {name: why for name, why in _IDLE.items() if getattr(self, name)}
        used = self.applied_to(device)
        if self.cublas_gemm and not (isinstance(used, GPU) and used.gemm):
            idle["cublas_gemm"] = "it is NVIDIA's; --device cuda has it"
        if self.cudagraph and not (isinstance(used, GPU) and used.graphs):
            idle["cudagraph"] = "its driver records no launches; those of cuda and rocm do"
        return idle


# Flags of MLC-LLM that change nothing in this version, on any device.
_IDLE = {
    "flashinfer": "its packages compile CUDA C++ where they run, with nvcc; our kernels are used",
    "cutlass": "no package has its kernels, and it is compiled with nvcc; our kernels are used",
    "faster_transformer": "its kernels come with no package; our kernels are used",
}


def notes(text: str, device: Device | GPU) -> list[str]:
    """Messages for a user of that `--opt`: one line for each flag that changes nothing, and one for
    a level."""
    flags = OptimizationFlags.parse(text)
    idle = flags.idle_on(device)
    if text in LEVELS:
        device_used = flags.applied_to(device)
        is_gpu = isinstance(device_used, GPU)
        used = ["cublas_gemm, where its library is found"] if is_gpu and device_used.gemm else []
        used += ["cudagraph"] if is_gpu and device_used.graphs else []
        without = f"; without effect: {', '.join(idle)}" if idle else ""
        return [f"--opt: {text} on {device.name} uses {' and '.join(used) or 'nothing'}{without}"]
    lines = [f"--opt: {name} changes nothing on {device.name}: {why}" for name, why in idle.items()]
    named = "activation_bits" in parse_assignments(text, what="--opt")
    works = isinstance(device, GPU) and device.half_rows and flags.activation_bits == 32
    if isinstance(device, GPU) and named and not works:
        lines.append(
            f"--opt: activation_bits changes nothing on {device.name}: it computes in floats"
        )
    return lines


_FAST = OptimizationFlags(cublas_gemm=True, faster_transformer=True, cutlass=True)
LEVELS = {
    "O0": OptimizationFlags(),
    "O1": replace(_FAST, cublas_gemm=False),
    "O2": replace(_FAST, flashinfer=True),
    "O3": replace(_FAST, flashinfer=True, cudagraph=True),
}


def parse_assignments(text: str, *, what: str) -> dict[str, int]:
    """`name=1;other=2` as a mapping."""
    values = {}
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        name, sign, value = (field.strip() for field in part.partition("="))
        if not sign or not value.removeprefix("-").isdecimal():
            raise InvalidRequestError(f'{what}: "{part}" is not of the form name=integer')
        values[name] = int(value)
    return values


def parse_overrides(text: str | None) -> dict[str, int]:
    """The overrides that change a library. Overrides of the engine are refused here."""
    values = {}
    for name, value in parse_assignments(text or "", what="--overrides").items():
        name = _ALIASES.get(name, name)
        if name == stages.NAME:
            stages.check_stages(value)
        if name not in (*OVERRIDABLE, stages.NAME):
            offered = (*OVERRIDABLE, *_ALIASES, stages.NAME)
            meant = did_you_mean(name, offered, " ")
            raise InvalidRequestError(
                f"--overrides: unknown name {name};{meant} available: {', '.join(offered)}"
            )
        values[name] = value
    return values


def merged_config(chat_config: Mapping[str, Any], overrides: Mapping[str, int]) -> dict[str, Any]:
    """`model_config` of an mlc-chat-config.json, together with its outer sizes and the
    overrides."""
    inner = chat_config.get("model_config")
    merged = dict(inner if isinstance(inner, Mapping) else chat_config)
    for name in OVERRIDABLE:
        if chat_config.get(name) is not None:
            merged[name] = chat_config[name]
    if mlc_folders.is_theirs(chat_config):
        merged = mlc_folders.as_ours(str(chat_config.get("model_type")), merged, OVERRIDABLE)
    return {**merged, **overrides}
