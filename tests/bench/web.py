"""The default model in WebAssembly: on WebGPU and on wasm SIMD in Deno, beside the native CPU.

usage: ./dev bench web [--tokens 32] [--loads 200] [--no-gpu]

Everything is software: WebGPU runs on lavapipe (Mesa's Vulkan on the CPU), so its figures say that
it works, and nothing about a GPU. Each engine uses one thread. Speeds are of the clock and, in
brackets, of the CPU time of the whole process, which says more when the machine has other work. The
last lines are the memory of WebAssembly, and what --loads loads of a tiny model leave behind. It
needs `./dev build web`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "python" / "convert")]

import tiny_models  # noqa: E402
from devtools import web_sdk  # noqa: E402

from mlc_llm import MLCEngine  # noqa: E402
from mlc_llm.compiler.compile import compile_model, read_chat_config  # noqa: E402
from mlc_llm.prepare.local_model import DEFAULT_MODEL  # noqa: E402
from mlc_llm.prepare.model_source import resolve_model  # noqa: E402

WASM = ROOT / "build" / "web" / "mlc_llm.wasm"
WORKER = Path(__file__).parent / "web_parts" / "worker.ts"
ENGINE = {"mode": "local", "max_num_sequence": 4, "max_total_seq_length": 2048, "num_threads": 1}
WARM, QUESTION = "Say hello.", "What is the capital of France?"
PROSE = "The quick brown fox jumps over the lazy dog. " * 12
# Lavapipe would take every core.
ENVIRONMENT = {**os.environ, "LP_NUM_THREADS": "1", "NODEVICE_SELECT": "1", "NO_COLOR": "1"}
MEGA = 1e6

Job = dict[str, Any]


def request(text: str, tokens: int) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": text}],
        "temperature": 0,
        "max_tokens": tokens,
        "debug_config": {"ignore_eos": True},
    }


def in_deno(job: Job) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "job.json"
        streams = {"stream": True, "stream_options": {"include_usage": True}}
        requests = [{**one, **streams} for one in job["requests"]]
        file.write_text(json.dumps({**job, "wasm": str(WASM), "requests": requests}))
        command = [str(web_sdk.find_deno()), "run", "-A", "--no-check", "--location",
                   "http://localhost/", str(WORKER), str(file)]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode != 0:
        raise SystemExit(f"the engine in Deno failed: {done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def now() -> dict[str, float]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {"wall": 1e3 * time.monotonic(), "cpu": 1e3 * (usage.ru_utime + usage.ru_stime)}


def since(begin: dict[str, float], end: dict[str, float]) -> dict[str, float]:
    return {name: end[name] - begin[name] for name in begin}


def natively(folder: Path, library: Path, requests: list[dict[str, Any]]) -> dict[str, Any]:
    """What `in_deno` gives of answers, by this machine's kernels."""
    answers = []
    with MLCEngine(folder, model_lib=str(library), device="cpu", engine_config=ENGINE) as engine:
        for one in requests:
            begin, first, text = now(), None, ""
            for chunk in engine.chat.completions.create(**one, stream=True):
                first = first or now()
                text += chunk.choices[0].delta.content or "" if chunk.choices else ""
            spent = {"first": since(begin, first or begin), "rest": since(first or begin, now())}
            answers.append({"text": text, "tokens": one["max_tokens"], **spent})
    return {"answers": answers}


def speed(tokens: int, spent: dict[str, float]) -> str:
    return f"{1e3 * tokens / spent['wall']:.1f} ({1e3 * tokens / max(spent['cpu'], 10):.1f})"


def row(name: str, found: dict[str, Any], prompt_tokens: int) -> str:
    _, question, prose = found["answers"]
    cells = [
        speed(prompt_tokens, prose["first"]),
        f"{question['first']['wall']:.0f} ({question['first']['cpu']:.0f}) ms",
        speed(question["tokens"] - 1, question["rest"]),
        json.dumps(question["text"][:40]),
    ]
    return f"| {name} | {' | '.join(cells)} |"


def memory(name: str, found: dict[str, Any]) -> str:
    heap, plan = found["heap"], found["plan"]
    cells = [heap["used"], heap["empty"], plan["kv_cache_bytes"], plan["parameter_bytes"]]
    return f"| {name} | {' | '.join(f'{cell / MEGA:.0f} MB' for cell in cells)} |"


def loads(count: int, scratch: Path) -> str:
    """What many loads of a tiny model leave behind."""
    tiny_models.write_hf_folder(scratch / "tiny", tiny_models.random_weights())
    tiny = resolve_model(scratch / "tiny", quantization="q4f32_1", progress=lambda _: None)
    library = scratch / "tiny.wasm"
    compile_model(read_chat_config(tiny.folder), output=library, device="wasm")
    job = {"folder": str(tiny.folder), "library": str(library), "device": "cpu"}
    sizes = {**ENGINE, "max_total_seq_length": 256}
    found = in_deno({**job, "engine": sizes, "requests": [request("Hello", 4)], "loads": count})
    used, after = found["heap"]["used"], found["heap"]["afterLoads"]
    return f"{count} loads of a tiny model: {used / MEGA:.1f} MB, then {after / MEGA:.1f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--loads", type=int, default=200)
    parser.add_argument("--no-gpu", action="store_true", help="without WebGPU, which takes minutes")
    args = parser.parse_args()
    if not WASM.exists() or web_sdk.find_deno() is None:
        raise SystemExit("it needs `./dev build web` and `pip install deno`")
    model = resolve_model(DEFAULT_MODEL, progress=lambda _: None)
    requests = [request(WARM, 8), request(QUESTION, args.tokens), request(PROSE, 1)]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        report(model, requests, scratch, with_gpu=not args.no_gpu)
        print(loads(args.loads, scratch))


def report(model: Any, requests: list[dict[str, Any]], scratch: Path, *, with_gpu: bool) -> None:
    kinds = [("wasm SIMD", "cpu", "wasm", None)]
    kinds += [("WebGPU on lavapipe", "webgpu", "webgpu", "wasm32")] if with_gpu else []
    found = {}
    for name, device, target, host in kinds:
        library = scratch / f"{target}.wasm"
        config = read_chat_config(model.folder)
        compile_model(config, output=library, device=target, host=host)
        job = {"folder": str(model.folder), "library": str(library), "device": device}
        found[name] = in_deno({**job, "engine": ENGINE, "requests": requests, "loads": 0})
    native = natively(model.folder, model.model_lib, requests)
    prompt_tokens = found["wasm SIMD"]["answers"][2]["prefilled"]
    print("\nSoftware only, one thread: clock (CPU time)\n")
    print("| engine | prompt tokens/s | first token | tokens/s | answer |\n|---|---|---|---|---|")
    for name, one in {"native CPU": native, **found}.items():
        print(row(name, one, prompt_tokens))
    print("\n| WebAssembly's memory | in use | without a model | KV cache | weights |")
    print("|---|---|---|---|---|")
    for name, one in found.items():
        print(memory(name, one))


if __name__ == "__main__":
    main()
