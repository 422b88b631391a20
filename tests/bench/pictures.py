"""Towers of real shapes with random weights on this CPU: time of `image_embed`, and its rate beside
the matrix rate of the machine.

usage: ./dev bench pictures [--towers smolvlm,so400m] [--threads 1,2] [--rounds 3] [--layers 4]
                            [--weights q0f16,q8f32_1] [--peer]

`smolvlm` is a tile of SmolVLM (SigLIP B/16, 512 pixels: 1,024 patches), `so400m` the tower of
Gemma 3 4B (SigLIP so400m, 896 pixels: 4,096 patches), `qwen2_5_vl` that of Qwen 2.5-VL (896 pixels,
windows in seven of eight layers). `--layers` runs that many layers of each and says the time of
all, with weights of float16 and of 8 bits. The rates beside them: multiply-adds on registers alone,
and the products with which texts of 1,024 rows are read (float16 weights; 4-bit weights in
integers, of whose rate each tower reaches the share that is printed). `--peer`: llama.cpp's mtmd
too, with towers of the same shape and weights (F16, Q8_0), of those of SigLIP.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

SUPPORT = Path(__file__).parents[1] / "python/compiler/support"
_TEXT = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vocab_size": 64,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
}
_SMOLVLM = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "image_size": 512,
    "patch_size": 16,
}
_SO400M = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "image_size": 896,
    "patch_size": 14,
}
_QWEN = {
    "hidden_size": 1280,
    "intermediate_size": 3420,
    "depth": 32,
    "num_heads": 16,
    "patch_size": 14,
    "out_hidden_size": 64,
}
_JOINED = {"model_type": "idefics3", "scale_factor": 4}
TOWERS = {"smolvlm": _SMOLVLM, "so400m": _SO400M, "qwen2_5_vl": _QWEN}
CONFIGS: dict[str, dict[str, Any]] = {
    "smolvlm": _JOINED,
    "so400m": _JOINED,
    "qwen2_5_vl": {"model_type": "qwen2_5_vl", "mrope_section": [2, 3, 3]},
}
WEIGHTS = {"q0f16": "F16", "q8f32_1": "Q8_0"}  # here, and in llama.cpp's files
PROMPTS = "products of texts, q4f16_1"  # of whose rate towers reach a share
PATCHES = 4096  # of a view, at most
ROWS = 1024  # of the products beside a tower


def main() -> None:
    args = _arguments()
    if args.child:
        return _child(args)
    for threads in args.threads:
        command = [sys.executable, __file__, "--child", *sys.argv[1:]]
        environment = {**os.environ, "TVM_NUM_THREADS": str(threads)}
        print(f"{threads} thread{'s' * (threads > 1)}", flush=True)
        subprocess.run(command, env=environment, check=True)
        for name, weights in product(args.towers, args.weights) if args.peer else []:
            from pictures_parts import mtmd

            if CONFIGS[name] is not _JOINED:
                continue
            types, shape = WEIGHTS[weights], _shape(name, args)
            taken = mtmd.seconds(name, types, shape, threads, args.rounds)
            if taken is not None:
                print(f"  llama.cpp, {name}, {types}: {taken * 1e3:.0f} ms", flush=True)


def _child(args: argparse.Namespace) -> None:
    sys.path.append(str(SUPPORT))
    every = {**_products(), **_towers(args)}
    rounds = [[seconds(run) for _, run in every.values()] for _ in range(args.rounds)]
    best = dict(zip(every, map(min, zip(*rounds, strict=True)), strict=True))
    prompts = every[PROMPTS][0] / best[PROMPTS]
    for name, (work, _) in every.items():
        rate = work / best[name]
        line = f"  {name}: {best[name] * 1e3:.0f} ms, {rate / 1e9:.0f} GFLOP/s"
        print(line + (f", {rate / prompts:.0%} of prompts" * (name != PROMPTS)), flush=True)


def seconds(run: Any) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _towers(args: argparse.Namespace) -> dict[str, tuple[float, Any]]:
    from vm_runner import Runner

    from mlc_llm.compiler import models, pipeline
    from mlc_llm.compiler.compile import library_spec
    from mlc_llm.compiler.library import build_module

    found = {}
    for name, weights in product(args.towers, args.weights):
        tower = {**CONFIGS[name], "vision_config": _shape(name, args)}
        chat = {**_TEXT, "tower_config": tower, "quantization": "q0f16"}
        chat["tower_quantization"] = weights
        spec = library_spec(chat, device="cpu")
        module = pipeline.build(build_module(spec, models.get("llama")), spec.device)
        runner = Runner(module, _random_weights(module))
        memory = runner.metadata["tower"]["memory"]
        count = min(spec.tower.view_patches, PATCHES)
        inputs = _inputs(spec.tower)
        label = f"{name}, {weights}, {count} patches, {spec.tower.layers} layers"
        label += f", {memory / 2**20:.0f} MiB"

        def run(runner: Any = runner, inputs: Any = inputs) -> None:
            runner.call("image_embed", **inputs, params=runner.params)

        run()
        found[label] = (_flops(spec.tower), run)
    return found


def _shape(name: str, args: argparse.Namespace) -> dict[str, Any]:
    shape: dict[str, Any] = {**TOWERS[name]}
    depth = "depth" if "depth" in shape else "num_hidden_layers"
    shape[depth] = args.layers or shape[depth]
    if depth == "depth":
        shape["fullatt_block_indexes"] = list(range(7, shape[depth], 8))
    return shape


def _random_weights(module: Any) -> dict[str, Any]:
    """For the library of a scheme of floats, and of a tower of 8 bits."""
    import tvm

    machine = tvm.relax.VirtualMachine(module, tvm.cpu())
    rng = np.random.default_rng(0)

    def draw(name: str, shape: Any, dtype: str) -> Any:
        if dtype == "uint32":
            return rng.integers(0, 255, (*shape, 4), np.uint8).view(dtype)[..., 0]
        if name.endswith("q_scale"):
            return np.full(shape, 2e-4, dtype)
        return (rng.standard_normal(shape, np.float32) * 0.02).astype(dtype)

    params = json.loads(str(machine["_metadata"]()))["params"]
    return {param["name"]: draw(param["name"], param["shape"], param["dtype"]) for param in params}


def _inputs(tower: Any) -> dict[str, Any]:
    count = min(tower.view_patches, PATCHES)
    places, side = np.arange(count), int(count**0.5)
    inputs = {
        "patches": np.random.default_rng(1).standard_normal((count, tower.patch_dim), np.float32),
        "patch_positions": np.stack([places // side, places % side], 1).astype(np.int32),
        "view_indptr": np.array([0, count], np.int32),
        "first_patches": places[:: tower.block].astype(np.int32),
    }
    if tower.window:
        inputs["window_indptr"] = np.arange(0, count + 1, tower.window**2, dtype=np.int32)
    return inputs


def _flops(tower: Any) -> float:
    n, w = min(tower.view_patches, PATCHES), tower.width
    matrices = 2 * n * (4 * w * w + (3 if tower.gated else 2) * w * tower.ff)
    whole = len(tower.windows.whole) if tower.windows else tower.layers
    seen = whole * n + (tower.layers - whole) * tower.window**2
    return (
        matrices * tower.layers + 4 * n * w * seen + 2 * n * w * (tower.patch_dim + tower.out_width)
    )


def _products() -> dict[str, tuple[float, Any]]:
    """What the machine can do: (768 -> 3072), as in the towers."""
    from kernel_tools import entry_of, matrix_of, stored_weight, taken

    from mlc_llm.compiler import quantization, targets

    unit, shape = targets.host().vectors, (3072, 768)
    rng = np.random.default_rng(2)
    weight = rng.standard_normal(shape).astype(np.float32)
    x, y = rng.standard_normal((ROWS, 768), np.float32), np.zeros((ROWS, 3072), np.float32)
    found: dict[str, tuple[float, Any]] = {"registers alone": peak()}
    for name in ("q0f16", "q4f16_1"):
        scheme = quantization.get(name)
        matrix = matrix_of(scheme, shape).on_cpu()
        stored = taken(matrix, stored_weight(scheme, weight, "linear")[0])
        codes = matrix.codes(8)
        if codes is None:
            kernel, given = matrix.linear(unit, bias=None, residual=False), x
        else:
            kernel = matrix.linear_of_codes(codes.on(unit.dot), unit, bias=None, residual=False)
            given = np.zeros((ROWS, codes.on(unit.dot).arg.shape[1]), np.int32)
        run = _called(entry_of(kernel), given, *stored, y)
        found[f"products of texts, {name}"] = (2.0 * ROWS * 768 * 3072, run)
    return found


def _called(entry: Any, *arrays: Any) -> Any:
    import tvm

    tensors = [tvm.runtime.tensor(np.ascontiguousarray(a)) for a in arrays]
    entry(*tensors)
    return lambda: entry(*tensors)


def peak() -> tuple[float, Any]:
    """Multiply-adds of as many sums as a tile of towers keeps in registers, on every thread."""
    from kernel_tools import entry_of
    from tvm.tirx.script import builder as T

    from mlc_llm.compiler import targets
    from mlc_llm.compiler.kernels.common.function import Arg, kernel
    from mlc_llm.compiler.kernels.common.values import LANES, splat
    from mlc_llm.compiler.kernels.cpu.vector import at, emit_floats, emit_value, fma

    sums, vectors = targets.host().vectors.panel_tile
    tasks, steps = 64, 1 << 20

    def body(x, y) -> None:
        with T.parallel(tasks) as task, T.sblock("task"):
            T.reads()
            T.writes()
            made = [emit_floats(sums) for _ in range(vectors)]
            for half in made:
                for i in range(sums):
                    T.buffer_store(half, splat(0.0), [at(i * LANES)])
            factor = emit_value(x[task, at(0)])
            with T.serial(steps):
                for half in made:
                    for i in range(sums):
                        place = at(i * LANES)
                        T.buffer_store(half, fma(factor, half[place], factor), [place])
            total = splat(0.0)
            for half in made:
                for i in range(sums):
                    total = emit_value(total + half[at(i * LANES)])
            T.buffer_store(y, total, [task, at(0)])

    args = [Arg("x", (tasks, LANES)), Arg("y", (tasks, LANES))]
    x = np.random.default_rng(3).random((tasks, LANES)).astype(np.float32)
    run = _called(entry_of(kernel(args, body)), x, np.zeros_like(x))
    return 2.0 * LANES * vectors * sums * steps * tasks, run


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--towers", type=lambda t: t.split(","), default=list(TOWERS))
    words = {"type": lambda t: t.split(","), "default": list(WEIGHTS)}
    parser.add_argument("--weights", **words, help="tower_quantization (default: both)")
    parser.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layers", type=int, default=0, help="of each tower; 0: all")
    parser.add_argument("--peer", action="store_true", help="llama.cpp too, built for this machine")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
