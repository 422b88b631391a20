"""llama.cpp's towers (mtmd) on the shapes of `./dev bench pictures`: GGUF files with random weights
of the `projector_type` gemma3, which has one view."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from cpu_parts import peer

TESTS = Path(__file__).parents[2]
sys.path += [str(TESTS / "python/convert"), str(TESTS / "fixtures/towers")]
HOME = peer.HOME / "pictures"
CHILD = Path(__file__).with_name("mtmd_child.py")
MERGE = 4


def seconds(
    name: str, types: str, vision: Mapping[str, Any], threads: int, rounds: int
) -> float | None:
    """The median time of one picture; None where llama.cpp cannot be had."""
    python = peer.LLAMA_CPP.install()
    if python is None:
        return None
    text, tower = _files(name, types, vision)
    command = [python, CHILD, text, tower, vision["image_size"], threads, rounds]
    with (HOME / "log.txt").open("w") as log:
        done = subprocess.run(
            [str(word) for word in command],
            check=True, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    answer = json.loads(done.stdout.splitlines()[-1])
    columns = vision["image_size"] // vision["patch_size"] // MERGE
    assert answer["rows"] == columns**2, answer
    return statistics.median(answer["seconds"])


def _files(name: str, types: str, vision: Mapping[str, Any]) -> tuple[Path, Path]:
    """A small text, and the tower; made once."""
    import tiny_pictures
    import tower_gguf
    import tower_shapes

    folder = HOME / f"{name}-{vision['num_hidden_layers']}-{types}"
    text, tower = folder / "text-F32.gguf", folder / f"mmproj-{types}.gguf"
    if tower.is_file():
        return text, tower
    drawn = tiny_pictures.write_gguf_pair(folder, "gemma3", said_name=text.stem)
    assert drawn == text
    columns = vision["image_size"] // vision["patch_size"]
    config = {
        **tiny_pictures.config("gemma3"),
        "mm_tokens_per_image": (columns // MERGE) ** 2,
        "vision_config": {
            **vision, "hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-6
        },
    }  # fmt: skip
    rng = np.random.default_rng(0)
    weights = {
        key: rng.standard_normal(shape, np.float32) * np.float32(0.02)
        for key, shape in tower_shapes.tower_shapes(config).items()
    }
    partial = tower.with_suffix(".partial")
    processor = tiny_pictures.processor(config)
    tower_gguf.write(partial, config, processor, weights, in_octets=types == "Q8_0")
    partial.rename(tower)
    return text, tower
