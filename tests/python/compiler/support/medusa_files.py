"""Files of Medusa's heads, with drawn weights."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mlc_llm.compiler.random_weights import draw
from mlc_llm.compiler.spec import HUGGING_FACE, DecoderSpec, weight_map

Array = np.ndarray[Any, Any]
_KINDS = {"float32": "F32", "float64": "F64", "int64": "I64", "uint8": "U8"}


def drawn(spec: DecoderSpec) -> dict[str, Array]:
    """The parameters of a decoder's heads."""
    shapes = {w.name: w.shape for w in weight_map(spec, HUGGING_FACE) if w.draft}
    return draw(shapes, 7, 1)


def tensors(*, heads: int, hidden: int, rows: int) -> dict[str, Array]:
    """As the published files name them, with one block in each head."""
    shapes: dict[str, tuple[int, ...]] = {}
    for head in range(heads):
        shapes[f"{head}.0.linear.weight"] = (hidden, hidden)
        shapes[f"{head}.0.linear.bias"] = (hidden,)
        shapes[f"{head}.1.weight"] = (rows, hidden)
    return draw(shapes, 7, 1)


def write(folder: Path, named: Mapping[str, Array], *, heads: Any, blocks: int = 1) -> Path:
    write_tensors(folder / "medusa_lm_head.safetensors", named)
    config = {"medusa_num_heads": heads, "medusa_num_layers": blocks}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def write_tensors(path: Path, named: Mapping[str, Array]) -> None:
    """A safetensors file."""
    header, data = {}, b""
    for name, value in named.items():
        end = len(data) + value.nbytes
        kind = _KINDS[value.dtype.name]
        header[name] = {"dtype": kind, "shape": value.shape, "data_offsets": [len(data), end]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
