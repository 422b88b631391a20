"""A Hugging Face folder of 1.2 billion random weights becomes a model that can be loaded.

usage: ./dev bench first_load [--runs 3] [--layers 16]

"apart": the weights are converted, then the library is compiled. "together": both at the same time,
as `mlc_llm chat` does it. Each run begins with empty caches. The runs alternate; the table holds
medians. The machine must be quiet and should have two cores. The model has the shape of Llama 3.2
1B; 4 GB of disk are needed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python" / "convert"))

import tiny_models  # noqa: E402

from mlc_llm.prepare.model_source import resolve_folder, resolve_model  # noqa: E402
from mlc_llm.prepare.progress import LogSteps  # noqa: E402

HIDDEN, WIDE, HEADS, KV_HEADS, HEAD_DIM, VOCAB = 2048, 8192, 32, 8, 64, 128_256
Times = tuple[float, float]  # wall, CPU: seconds


def block_shapes() -> dict[str, tuple[int, ...]]:
    return {
        "self_attn.q_proj": (HEADS * HEAD_DIM, HIDDEN),
        "self_attn.k_proj": (KV_HEADS * HEAD_DIM, HIDDEN),
        "self_attn.v_proj": (KV_HEADS * HEAD_DIM, HIDDEN),
        "self_attn.o_proj": (HIDDEN, HEADS * HEAD_DIM),
        "mlp.gate_proj": (WIDE, HIDDEN),
        "mlp.up_proj": (WIDE, HIDDEN),
        "mlp.down_proj": (HIDDEN, WIDE),
        "input_layernorm": (HIDDEN,),
        "post_attention_layernorm": (HIDDEN,),
    }


def write_model(folder: Path, layers: int) -> Path:
    """The same random float16 rows for every weight; their values do not change the times."""
    shapes = {"model.embed_tokens.weight": (VOCAB, HIDDEN), "model.norm.weight": (HIDDEN,)}
    for layer in range(layers):
        shapes |= {f"model.layers.{layer}.{n}.weight": s for n, s in block_shapes().items()}
    values = np.random.default_rng(0).standard_normal(1 << 20, dtype=np.float32)
    values = values.astype(np.float16)
    weights = {name: np.resize(values, shape) for name, shape in shapes.items()}
    config = {"hidden_size": HIDDEN, "intermediate_size": WIDE, "num_hidden_layers": layers}
    config |= {"num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS}
    config |= {"head_dim": HEAD_DIM, "vocab_size": VOCAB, "tie_word_embeddings": True}
    tiny_models.write_hf_folder(folder, {}, **config, max_position_embeddings=131_072)
    save_file(weights, folder / "model.safetensors")
    return folder


def cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def first_load(folder: Path, *, together: bool) -> Times:
    """The remembered hash of the weights file stays: hashing is not measured."""
    home = Path(os.environ["MLC_LLM_HOME"])
    for made in ("model_weights", "model_lib"):
        shutil.rmtree(home / made, ignore_errors=True)
    wall, before = time.monotonic(), cpu_s()
    steps = LogSteps(lambda line: None)
    if not together:
        folder = resolve_folder(folder, progress=steps)
    resolve_model(folder, progress=steps)
    return time.monotonic() - wall, cpu_s() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--layers", type=int, default=16)
    arguments = parser.parse_args()
    found: dict[str, list[Times]] = {"apart": [], "together": []}
    with tempfile.TemporaryDirectory(prefix="mlc-first-load-") as work:
        os.environ["MLC_LLM_HOME"] = f"{work}/home"
        folder = write_model(Path(work) / "model", arguments.layers)
        resolve_folder(folder, progress=LogSteps(lambda line: None))  # hashes the file
        for _ in range(arguments.runs):
            for name, times in found.items():
                times.append(first_load(folder, together=name == "together"))
                print(f"{name}: {json.dumps(times[-1])}", file=sys.stderr, flush=True)
    print("| first load of a 1.2B model | wall, s | CPU, s |\n|---|---|---|")
    for name, times in found.items():
        wall, cpu = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"| {name} | {wall:.1f} | {cpu:.1f} |")


if __name__ == "__main__":
    main()
