"""`./dev bench gpu --device cuda` in a process whose driver is the emulator of tests/fixtures.

    python cuda_bench_emulated.py FOLDER LIBRARY INCLUDES SCRATCH

Writes its JSON file's content and its summary as one line of JSON, the last.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import gpu as command
from cuda_emulated import register_compiler
from gpu_parts import device, engine, models, report

from mlc_llm.compiler import targets


def main() -> None:
    folder, library, includes, scratch = sys.argv[1:]
    register_compiler(includes, Path(scratch))
    targets.GPUS["cuda"] = replace(targets.GPUS["cuda"], ptx="")  # the emulator takes C++
    models.MODELS["small"] = models.SMALL
    device._GROUPS, device._COPY_BYTES = 16, 1 << 20

    def steps(
        name: str, _model: str, _quantization: str, batches: list[int], *_: int, **__: object
    ):
        return engine.step_seconds(Path(folder), Path(library), name, batches, history=4)

    engine.decode_step_seconds = steps
    output = Path(scratch) / "gpu.json"
    options = ["--device", "cuda", "--models", "small", "--engine", "small", "--batch", "1,4"]
    options += ["--history", "4", "--prefill", "32", "--seconds", "0.001", "--matrix", "16"]
    sys.argv = ["gpu", *options, "--quantization", "q4f32_1", "--json", str(output)]
    command.main()
    result = json.loads(output.read_text())
    kernels = result["models"]["small"]["prefill of 32"]["kernels"]
    lines = report.summary(result).splitlines()
    print(json.dumps({**result, "kernels": kernels, "summary": lines}))


if __name__ == "__main__":
    main()
