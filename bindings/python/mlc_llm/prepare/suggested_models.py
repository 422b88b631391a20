"""The models to take next: which one for how much memory. README shows the same table."""

from __future__ import annotations

import json
from dataclasses import dataclass

CONTEXT = 4096  # tokens, for the memory of a conversation


@dataclass(frozen=True, kw_only=True)
class SuggestedModel:
    """A repository of weights that are quantized already, so that nothing is converted."""

    model: str
    memory_gb: int  # of a machine for which it is chosen
    parameter_bytes: int  # what is downloaded, and what the weights take
    kv_bytes_per_token: int  # layers x 2 x key-value heads x head size x 2 bytes

    @property
    def memory_bytes(self) -> int:
        """What an engine takes with a context of CONTEXT tokens, without temporaries."""
        return self.parameter_bytes + CONTEXT * self.kv_bytes_per_token

    @property
    def command(self) -> str:
        return f"mlc_llm chat {self.model}"


def _qwen3(
    billions: str, *, memory_gb: int, parameters: float, layers: int, heads: int = 8
) -> SuggestedModel:
    return SuggestedModel(
        model=f"HF://mlc-ai/Qwen3-{billions}B-q4f16_1-MLC",
        memory_gb=memory_gb,
        parameter_bytes=int(parameters * 4.5 / 8),  # 4 bits, and 16 for each group of 32
        kv_bytes_per_token=layers * 2 * heads * 128 * 2,
    )


# Sizes from the configs of the models' authors (Qwen3 technical report, table 1).
SUGGESTED = (
    _qwen3("0.6", memory_gb=1, parameters=596.0e6, layers=28),
    _qwen3("1.7", memory_gb=4, parameters=1720.6e6, layers=28),
    _qwen3("4", memory_gb=4, parameters=4022.5e6, layers=36),
    _qwen3("8", memory_gb=16, parameters=8190.7e6, layers=36),
)


def available_bytes() -> int:
    """The memory of the device that `auto` takes; of the CPU what is free now."""
    from mlc_llm import _core

    choice = json.loads(_core.choose_device(b"auto"))
    return int(choice["probes"][-1].get("memory_bytes", 0))


def best_fit() -> SuggestedModel | None:
    """The largest one for which there is memory."""
    fitting = [model for model in SUGGESTED if model.memory_bytes <= available_bytes()]
    return max(fitting, key=lambda model: model.parameter_bytes, default=None)
