"""Writes an adapter in the form that the core loads while it runs (docs/adapters.md, "The file").

A layer's weights are in groups of 8 ranks, as the kernels read them (`kernels/cpu/low_rank.py`).
Each part of a layer's outputs (queries, keys, values) has an A of its own. All layers have the same
rank, with zeros behind smaller ones. The scale is in B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlc_llm.compiler import models
from mlc_llm.compiler.convert.adapters.factors import Adapter, Array, unsupported
from mlc_llm.compiler.convert.adapters.merge import Change, changes_of
from mlc_llm.compiler.models import mlc_folders
from mlc_llm.compiler.options import merged_config
from mlc_llm.compiler.spec.adapters import RANKS, VECTOR, Widths, adapted_widths
from mlc_llm.prepare.temporary_files import scratch_folder

VERSION = "1"
_HEAD_USES = ("embedding", "tied_embedding", "lm_head")


def write_run_time(adapter: Adapter, chat_config: Mapping[str, Any], output: Path) -> int:
    """`chat_config`: the model's mlc-chat-config.json. Returns the rank. Error: an adapter that
    does not fit the model, or changes what only a merge can change."""
    from safetensors.numpy import save_file

    name = str(chat_config.get("model_type"))
    family = models.get(mlc_folders.text_type(name))
    config = family.config_class.from_dict(merged_config(chat_config, {}))
    weights = family.weight_map(config)
    widths = adapted_widths(w for w in weights if w.quantizable not in _HEAD_USES)
    changes: dict[str, list[Change]] = {}
    for weight, change in changes_of(adapter, 1.0, family, config):
        layer = weight.removesuffix(".weight")
        _check(adapter, layer, change, widths)
        changes.setdefault(layer, []).append(change)
    rank = max(_rank(widths[layer], found) for layer, found in changes.items())
    arrays = {}
    for layer, found in changes.items():
        a, b = _stacked(widths[layer], found, -(-rank // RANKS) * RANKS)
        arrays[f"{layer}.a"], arrays[f"{layer}.b"] = _in_groups(*_balanced(a, b))
    about = {"format": "mlc-adapter", "version": VERSION, "rank": str(rank), "model_type": name}
    with scratch_folder(output) as folder:
        save_file(arrays, folder / output.name, metadata=about)
        (folder / output.name).replace(output)
    return rank


def _check(adapter: Adapter, layer: str, change: Change, widths: Mapping[str, Widths]) -> None:
    problem = ""
    if layer not in widths:
        problem = "is no linear layer that can have one at run time"
    elif change.magnitude is not None:
        problem = "has a magnitude (DoRA)"
    elif change.b.ndim != 2 or change.is_turned:
        problem = "is stored otherwise"
    if problem:
        raise unsupported(
            adapter.path,
            f"{layer} {problem}; merge the adapter when the model is converted (convert_weight "
            "--lora-adapter)",
        )


def _parts(widths: Widths) -> list[range]:
    ends = np.cumsum(widths).tolist()
    return [range(end - width, end) for end, width in zip(ends, widths, strict=True)]


def _overlap(part: range, change: Change) -> range:
    return range(max(part.start, change.first), min(part.stop, change.first + len(change.b)))


def _rank(widths: Widths, changes: Sequence[Change]) -> int:
    """Changes of the same outputs stand behind one another."""
    ranks = [[len(c.a) for c in changes if _overlap(part, c)] for part in _parts(widths)]
    return max(map(sum, ranks))


def _stacked(widths: Widths, changes: Sequence[Change], rank: int) -> tuple[Array, Array]:
    """A (parts, rank, inputs) and B (rank, outputs)."""
    a = np.zeros((len(widths), rank, changes[0].a.shape[1]), np.float32)
    b = np.zeros((rank, sum(widths)), np.float32)
    for index, part in enumerate(_parts(widths)):
        used = 0
        for change in changes:
            rows = _overlap(part, change)
            if rows:
                ranks = slice(used, used + len(change.a))
                a[index, ranks] = change.a
                mine = change.b[rows.start - change.first : rows.stop - change.first]
                b[ranks, rows.start : rows.stop] = mine.T
                used = ranks.stop
    return a, b


def _balanced(a: Array, b: Array) -> tuple[Array, Array]:
    """The same product with factors of like size, which float16 holds best. Powers of two are
    exact."""
    sizes = np.abs(a).max(), np.abs(b).max()
    if not all(sizes):
        return a, b
    factor = np.float32(2.0 ** round(float(np.log2(sizes[1]) - np.log2(sizes[0])) / 2))
    return a * factor, b / factor


def _in_groups(a: Array, b: Array) -> tuple[Array, Array]:
    """(groups, blocks, 8, 16) of both."""
    parts, rank, ins = a.shape
    groups, outs = rank // RANKS, b.shape[1]
    a = a.reshape(parts, groups, RANKS, ins // VECTOR, VECTOR).transpose(1, 0, 3, 2, 4)
    b = b.reshape(groups, RANKS, outs // VECTOR, VECTOR).transpose(0, 2, 1, 3)
    a = a.reshape(groups, parts * ins // VECTOR, RANKS, VECTOR)
    return np.ascontiguousarray(a), np.ascontiguousarray(b)
