"""`mlc_llm compile --debug`: compares each layer of a compiled model with NumPy (`reference.py`).

Each layer by itself: NumPy gets the rows that the library's layer got. So what is wrong in one
layer is not seen again in the ones behind it, and the first layer that differs is the one to look
at. The weights are those of the folder as the scheme means them, so what quantization loses is in
both.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from mlc_llm.compiler import models, reference, targets
from mlc_llm.compiler.calibrate import CHUNK, FloatModel
from mlc_llm.compiler.library import LibrarySpec
from mlc_llm.compiler.models import mlc_folders
from mlc_llm.compiler.quantization import Scheme
from mlc_llm.compiler.spec import WeightSource
from mlc_llm.compiler.stored_weights import laid_out, read_weights
from mlc_llm.compiler.targets import GPU, Device
from mlc_llm.errors import UnsupportedError

Array = np.ndarray[Any, Any]
ROWS = 24  # of the text that is read
# The largest difference, as a part of what the layer adds to its rows. Activations of 8 bits cost
# about a hundredth, key and value pages of 16 bits a thousandth.
LIMITS = {8: 0.1, 16: 0.01, 32: 0.01}
_UNUSED = {"ete", "trbe"}  # CPU features that LLVM names for every aarch64, and no code needs


@dataclass(frozen=True)
class Difference:
    """`apart`: the size of the difference, as a part of what NumPy's layer adds to its rows."""

    layer: str
    apart: float
    differs: bool


def check_layers(spec: LibrarySpec, folder: Path, library: Path) -> Iterator[Difference]:
    """One difference for each layer, in order, and that of the logits."""
    family = models.get(mlc_folders.text_type(spec.model_type))
    decoder, weights = family.decoder(spec.config), read_weights(folder)
    count = len(decoder.layers)
    rng, limit = np.random.default_rng(0), LIMITS[spec.activation_bits]
    ids = [int(i) for i in rng.integers(0, spec.config.vocab_size, min(ROWS, CHUNK))]
    module = tvm.runtime.load_module(str(library))
    states, logits = _of_library(module, weights, ids)
    found = np.split(states, count, axis=1)
    params = _Floats(weights, spec.scheme, family.weight_map(spec.config))
    for index, (given, made) in enumerate(reference.each_layer(decoder, params, ids, found)):
        is_layer = index < count
        of_library, base = (found[index], given) if is_layer else (logits, np.zeros_like(made))
        size = np.linalg.norm(made - base)
        apart = float(np.linalg.norm(of_library - made) / max(size, 1e-30))
        name = f"layer {index}" if is_layer else "the logits"
        yield Difference(name, apart, not apart < limit)  # NaN differs


def check_that_it_can(spec: LibrarySpec, folder: Path) -> None:
    """Raises UnsupportedError for libraries and folders that are not compared."""
    family = models.get(mlc_folders.text_type(spec.model_type))
    decoder = family.decoder(spec.config)
    reasons = {
        "libraries for GPUs": isinstance(spec.device, GPU),
        "libraries for other CPUs than this machine's": not _runs_here(spec.device),
        "libraries that take adapters": spec.adapters,
        "a library of several shards": spec.shards > 1,
        "a folder that MLC-LLM's converter made": spec.made_by_mlc_llm,
        "a config without its weights": not (folder / "tensor-cache.json").is_file(),
        "encoders": decoder.is_encoder,
        "models that take pictures": spec.built_tower is not None,
    }
    if what := next((words for words, holds in reasons.items() if holds), None):
        raise UnsupportedError(f"--debug does not compare {what} with NumPy", param="debug")


def _runs_here(device: Device | GPU) -> bool:
    machine = "" if isinstance(device, GPU) else device.mtriple.partition("-")[0]
    needed = set(device.cpu_features()) - _UNUSED
    return machine in ("", platform.machine()) and needed <= set(targets.host().cpu_features())


def _of_library(
    module: Any, weights: Mapping[str, Array], ids: Sequence[int]
) -> tuple[Array, Array]:
    """The rows after each layer, side by side, and the logits."""
    model = FloatModel(module, _LaidOut(module, weights))
    states = np.array(model.read(ids, result="layer_states"), np.float64)
    model.restart()
    return states, np.array(model.read(ids), np.float64)


class _LaidOut(Mapping[str, Any]):
    """The library's parameters as tensors."""

    def __init__(self, module: Any, weights: Mapping[str, Array]) -> None:
        vm = tvm.relax.VirtualMachine(module, tvm.cpu())
        params = json.loads(str(vm["_metadata"]()))["params"]
        self._params, self._weights = {one["name"]: one for one in params}, weights

    def __getitem__(self, name: str) -> Any:
        one, value = self._params[name], self._weights[name]
        if str(value.dtype).startswith("float8"):  # which the core takes for bytes
            value = value.view(np.uint8)
        value = laid_out(value, one["shape"], one.get("strips"))
        return tvm.runtime.tensor(np.ascontiguousarray(value))

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)


class _Floats(Mapping[str, Any]):
    """The weights as floats, each made when it is asked for: all of them would take eight bytes a
    weight."""

    def __init__(
        self, weights: Mapping[str, Array], scheme: Scheme, sources: Sequence[WeightSource]
    ) -> None:
        self._weights, self._scheme = weights, scheme
        self._sources = {one.name: one for one in sources}

    def __getitem__(self, name: str) -> Array:
        one = self._sources[name]
        if one.quantizable is None:
            return self._weights[name].astype(np.float64)
        matrices = self._scheme.stacked(name, one.shape, one.quantizable)
        flat = self._flat if one.quantizable == "experts" else self._weights.__getitem__
        made = [matrix.floats([flat(p.name) for p in matrix.stored]) for matrix in matrices]
        return np.concatenate(made).reshape(one.shape).astype(np.float64)

    def _flat(self, name: str) -> Array:
        """Stored tensors of experts have an axis for experts before the others."""
        array = self._weights[name]
        return array.reshape(-1, *array.shape[2:])

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)
