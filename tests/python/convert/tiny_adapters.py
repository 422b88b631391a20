"""Adapters of the tiny Llama in every format, and what they make of its weights."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import tiny_models
from safetensors.numpy import save_file

Array = np.ndarray[Any, Any]
MODULES = ("self_attn.q_proj", "self_attn.k_proj", "mlp.down_proj")
RANK, ALPHA = 4, 8.0


@dataclass
class TinyAdapter:
    """Factors by module: a (rank, in) and b (out, rank)."""

    a: dict[str, Array] = field(default_factory=dict)
    b: dict[str, Array] = field(default_factory=dict)
    m: dict[str, Array] = field(default_factory=dict)

    def merged(self, weights: dict[str, Array], scale: float) -> dict[str, Array]:
        """PEFT's formulas in float64."""
        made = dict(weights)
        for module, a in self.a.items():
            name = f"{module}.weight"
            value = weights[name] + scale * (self.b[module].astype(np.float64) @ a)
            if module in self.m:
                value *= (self.m[module] / np.linalg.norm(value, axis=1))[:, None]
            made[name] = value.astype(np.float32)
        return made


def random_adapter(seed: int = 1, modules: Any = MODULES, rank: int = RANK) -> TinyAdapter:
    rng = np.random.default_rng(seed)
    made = TinyAdapter()
    for module, (_, (outs, ins)) in _modules().items():
        if module.endswith(tuple(modules)):
            made.a[module] = rng.standard_normal((rank, ins), dtype=np.float32)
            made.b[module] = rng.standard_normal((outs, rank), dtype=np.float32)
    return made


def _modules() -> dict[str, tuple[str, Any]]:
    every = tiny_models.names()
    return {k.removesuffix(".weight"): v for k, v in every.items() if len(v[1]) == 2}


def write_peft(folder: Path, adapter: TinyAdapter, **config: Any) -> Path:
    folder.mkdir(parents=True)
    tensors = {}
    for module, a in adapter.a.items():
        path = f"base_model.model.{module}"
        if module == "model.embed_tokens":
            tensors[f"{path}.lora_embedding_A"] = np.ascontiguousarray(adapter.b[module].T)
            tensors[f"{path}.lora_embedding_B"] = np.ascontiguousarray(a.T)
            continue
        tensors[f"{path}.lora_A.weight"] = a
        tensors[f"{path}.lora_B.weight"] = adapter.b[module]
        if module in adapter.m:
            tensors[f"{path}.lora_magnitude_vector"] = adapter.m[module]
    save_file(tensors, folder / "adapter_model.safetensors")
    given = {
        "peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "target_modules": list(MODULES),
        "task_type": "CAUSAL_LM", "bias": "none", "lora_dropout": 0.05, "use_dora": bool(adapter.m),
        "base_model_name_or_path": "tiny", "init_lora_weights": True, "modules_to_save": None,
        "inference_mode": True, "fan_in_fan_out": False, "use_rslora": False,
    }  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(given | config))
    return folder


def write_mlx(folder: Path, adapter: TinyAdapter, scale: float, **config: Any) -> Path:
    folder.mkdir(parents=True)
    tensors = {}
    for module, a in adapter.a.items():
        tensors[f"{module}.lora_a"] = np.ascontiguousarray(a.T)
        tensors[f"{module}.lora_b"] = np.ascontiguousarray(adapter.b[module].T)
        if module in adapter.m:
            tensors[f"{module}.m"] = adapter.m[module]
    save_file(tensors, folder / "adapters.safetensors")
    given = {"fine_tune_type": "dora" if adapter.m else "lora", "num_layers": -1,
             "lora_parameters": {"rank": RANK, "scale": scale, "dropout": 0.0}}  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(given | config))
    return folder


def write_gguf(
    path: Path,
    adapter: TinyAdapter,
    *,
    alpha: float = ALPHA,
    kind: str = "adapter",
    architecture: str = "llama",
) -> Path:
    """As llama.cpp's converter: b's rows of q and k are in pairs, as the base's."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type(kind)
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    for module, a in adapter.a.items():
        heads = {"q_proj": tiny_models.HEADS, "k_proj": tiny_models.KV_HEADS}
        count = heads.get(module.rpartition(".")[2])
        name, b = _modules()[module][0], adapter.b[module]
        writer.add_tensor(f"{name}.lora_a", a)
        writer.add_tensor(f"{name}.lora_b", tiny_models.interleave(b, count) if count else b)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
