"""A model folder of any shape whose weights are random: what an engine needs to be timed."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gpu_parts.models import chat_config
from mlc_llm.compiler import models
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.convert.mlc_writer import TENSOR_CACHE, WeightWriter
from mlc_llm.compiler.quantization.pack import numpy_dtype
from mlc_llm.prepare.model_source import resolve_folder

_BLOCK = 1 << 20  # random elements, over and over
_CONFIG = "mlc-chat-config.json"


def random_model(model: str, quantization: str, parent: Path) -> Path:
    """The `-MLC` folder, with the embedded model's tokenizer; written once."""
    folder = parent / f"{model}-{quantization}-random-MLC"
    shape = json.dumps(chat_config(model, quantization), sort_keys=True)
    stamp = folder / "shape.json"
    if (folder / TENSOR_CACHE).exists() and stamp.read_text() == shape:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    source = resolve_folder(None, quantization="q4f32_1", progress=print)
    folder.mkdir(parents=True)
    for file in source.iterdir():
        if file.name not in (_CONFIG, TENSOR_CACHE) and not file.name.startswith("params_shard"):
            shutil.copy(file, folder)
    config = json.loads((source / _CONFIG).read_text()) | chat_config(model, quantization)
    sizes = config["model_config"]
    config |= {name: sizes[name] for name in config.keys() & sizes.keys() if name != "model_type"}
    (folder / _CONFIG).write_text(json.dumps(config, indent=1))
    stamp.write_text(shape)
    _write_weights(folder, model, quantization)
    return folder


def _write_weights(folder: Path, model: str, quantization: str) -> None:
    spec = library_spec(chat_config(model, quantization), device="cpu")
    random = np.random.default_rng(0)
    words = random.integers(0, 2**32, _BLOCK, np.uint32)
    floats = random.uniform(0.002, 0.01, _BLOCK).astype(np.float32)
    writer, elements = WeightWriter(folder), 0
    for weight in models.get(spec.model_type).weight_map(spec.config):
        for param in weight.stored_params(spec.scheme):
            dtype = numpy_dtype(param.dtype)
            is_norm = len(param.shape) == 1
            block: Any = words if dtype == np.uint32 else floats.astype(dtype)
            writer.add(param, _repeated(np.ones_like(block) if is_norm else block, param.shape))
            elements += math.prod(param.shape)
    writer.finish(original_elements=elements)


def _repeated(block: np.ndarray, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    left = math.prod(shape)
    while left > 0:
        yield block[:left]
        left -= block.size
