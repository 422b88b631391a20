"""RWKV 5 (5.2, "Eagle"): RWKV 6 with the same mixes and decays for all rows.

The configs and names are those of the repositories of RWKV on Hugging Face, whose code is theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mlc_llm.compiler.layers import GatedMixSpec
from mlc_llm.compiler.models.family import MLCFormat, ModelFamily
from mlc_llm.compiler.models.rwkv6 import (
    FLOAT32,
    OUTSIDE,
    RWKVConfig,
    decoder,
    tensors,
)
from mlc_llm.compiler.spec import Source, TensorMap
from mlc_llm.compiler.spec.transforms import LogMinusLog

VECTORS = {
    **{f"{role}_mix": f"attention.time_mix_{name}" for role, name in (
        ("keys", "key"), ("values", "value"), ("receptance", "receptance"), ("gate", "gate"))},
    "up_mix": "feed_forward.time_mix_key",
    "mlp_gate_mix": "feed_forward.time_mix_receptance",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RWKV5Config(RWKVConfig):
    version = "5_2"

    def mlp(self) -> GatedMixSpec:
        return replace(super().mlp(), of_before=False)


def _tensors(c: RWKV5Config) -> TensorMap:
    whole = {role: (Source(name, is_whole=True),) for role, name in VECTORS.items()}
    return tensors(c).changed(**whole)


def _mlc_tensors(c: RWKV5Config) -> TensorMap:
    decay = Source("attention.time_decay", (LogMinusLog(),), is_whole=True)
    return TensorMap(f"{OUTSIDE['layer']}.", {"decay": (decay,)})


FAMILY = ModelFamily(
    config_class=RWKV5Config,
    decoder=lambda c: decoder(c, **VECTORS),
    tensors=_tensors,
    mlc=MLCFormat(_mlc_tensors, float32=FLOAT32),
)
