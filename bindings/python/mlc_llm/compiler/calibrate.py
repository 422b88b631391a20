"""How much each input of a linear layer matters: the mean square of what it gets on a text.

    importance = importance_of(source, token_ids)
    importance["model.layers.0.mlp.down_proj.weight"]    # float32 (inputs,)

The model is compiled with plain float32 weights, and TVM's virtual machine reads the text with it.
The machine shows every kernel call: its first argument is the layer's input, and its second one is
the weight, which is known by its address. All weights are in memory as float32 at that time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tvm

from mlc_llm.compiler import models, pipeline, quantization
from mlc_llm.compiler.compile import library_spec
from mlc_llm.compiler.convert.source import ModelSource
from mlc_llm.compiler.convert.weights import SourceRows, as_in_files, check_tensors
from mlc_llm.compiler.library import build_module
from mlc_llm.compiler.library_calls import LibraryCalls
from mlc_llm.errors import InvalidRequestError, UnsupportedError

Array = np.ndarray[Any, Any]
TOKENS = 2048  # of a text that are read
CHARACTERS = 128 * TOKENS  # of a file; the rest is too far behind
CHUNK = 128  # rows of a step; the logits of all of them are computed
_PLAIN = "q0f32"
# The rows of which a step gives a result.
_ROWS = {
    "logits": "logit_rows", "hidden_states": "hidden_rows", "layer_states": "hidden_rows"
}  # fmt: skip

Report = Callable[[float], None]


def importance_of(
    source: ModelSource,
    ids: Sequence[int],
    *,
    model_type: str | None = None,
    report: Report = lambda done: None,
) -> dict[str, Array]:
    """The importance of the inputs of each weight, by the names of our weights. Weights that no
    kernel multiplied are left out. `report` takes how much is done, 0 .. 1."""
    if len(ids) < 2:
        raise InvalidRequestError("the text of --calibrate is empty", param="calibrate")
    module, weights = float_module(source, model_type), floats_of(source, model_type)
    text = FloatModel(module, weights)
    squares = text.watched()
    ids = list(ids)[: text.longest]
    for begin in range(0, len(ids), CHUNK):
        text.read(ids[begin : begin + CHUNK])
        report(min(begin + CHUNK, len(ids)) / len(ids))
    return squares.means()


class _Squares:
    """Adds up the squares of layers' inputs. It is the virtual machine's instrument."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names  # of weights, by address
        self._sums: dict[str, Array] = {}
        self._rows: dict[str, int] = {}

    def __call__(self, _function: Any, _symbol: str, before: bool, _value: Any, *args: Any) -> int:
        if before:
            self._add([arg for arg in args if isinstance(arg, tvm.runtime.Tensor)])
        return 0  # go on

    def _add(self, tensors: Sequence[Any]) -> None:
        x = next(iter(tensors), None)
        if x is None or x.dtype != "float32" or len(x.shape) != 2:
            return
        for weight in (tensor for tensor in tensors[1:] if len(tensor.shape) > 1):
            name, size = self._names.get(_address(weight)), weight.shape[-1]
            if name is not None and x.shape[1] % size == 0:
                rows = np.from_dlpack(x).reshape(-1, size)  # of experts: several in a row of x
                sums = np.square(rows, dtype=np.float64).sum(0)
                self._sums[name] = self._sums.get(name, 0) + sums
                self._rows[name] = self._rows.get(name, 0) + len(rows)

    def means(self) -> dict[str, Array]:
        found = {name: sums / self._rows[name] for name, sums in self._sums.items()}
        return {name: means.astype(np.float32) for name, means in found.items()}


class FloatModel:
    """The model in float32, and what it has read so far."""

    def __init__(self, module: Any, weights: Mapping[str, Any]) -> None:
        vm = tvm.relax.VirtualMachine(module, tvm.cpu())
        metadata = json.loads(str(vm["_metadata"]()))
        self._vm, self._call = vm, LibraryCalls(vm, metadata)
        self._params = [weights[p["name"]] for p in metadata["params"]]
        cache = metadata["kv_cache"]
        self._page_size = cache["page_size"]
        self.longest = min(TOKENS, metadata["context_window_size"])  # tokens
        pages = -(-self.longest // self._page_size)
        layers, states = cache["layers"], metadata.get("states", [])
        self._pages = [_zeros((pages, *one["page_shape"]), one["dtype"]) for one in layers]
        self._states = [_zeros((1, *one["shape"]), one["dtype"]) for one in states]
        self._names = [p["name"] for p in metadata["params"]]
        self._length = 0

    def watched(self) -> _Squares:
        """Adds up the squares of layers' inputs from now on."""
        addresses = map(_address, self._params)
        squares = _Squares(dict(zip(addresses, self._names, strict=True)))
        self._vm.set_instrument(squares)
        return squares

    def restart(self) -> None:
        """The next token begins a text."""
        self._length = 0

    def read(self, ids: Sequence[int], *, result: str = "logits") -> Array:
        """The logits behind each of at most `CHUNK` tokens: float32 (tokens, vocabulary); or their
        "hidden_states", or the "layer_states"."""
        first, count = self._length, len(ids)
        self._length += count
        pages = range(-(-self._length // self._page_size))
        positions = range(first, self._length)
        embedded = self._call("embed", tokens=ids, params=self._params)
        made = self._call(
            "batch_prefill",
            **embedded,
            positions=positions,
            slots=positions,
            row_sequence=[0] * count,
            page_indptr=[0, len(pages)],
            page_indices=pages,
            windowed_slots=positions,
            windowed_indices=pages,
            # the state is read from and written to its only slot
            state_source=[0 if first else -1],
            row_indptr=[0, count],
            state_writes=[*[-1] * (count - 1), 0],
            **{"logit_rows": [], "hidden_rows": [], _ROWS[result]: range(count)},
            kv_pages=self._pages,
            states=self._states,
            params=self._params,
        )
        return np.from_dlpack(made[result])


def float_module(source: ModelSource, model_type: str | None) -> Any:
    """The model's library in float32."""
    config = source.hf_config()
    name = model_type or models.model_type_of(config)
    family, typed = models.get(name), models.config_from_hf(config, name)
    if family.decoder(typed).is_encoder:
        raise UnsupportedError(
            "weights are measured with a text that the model continues, and this one makes "
            "embeddings",
            param="calibrate",
        )
    given = {**config, "prefill_chunk_size": CHUNK}
    spec = library_spec(given, quantization=_PLAIN, model_type=name, device="cpu")
    spec = replace(spec, tower=None)  # a text is measured
    return pipeline.build(build_module(spec, family), spec.device)


def floats_of(source: ModelSource, model_type: str | None) -> dict[str, Any]:
    """The model's tensors in float32, by our names."""
    made: dict[str, Any] = {}
    for weight in weights_of(source, model_type):
        scheme = quantization.get(_PLAIN)
        for param, chunks in scheme.convert(SourceRows(source, weight), use=weight.quantizable):
            # TVM's tensors: copies of NumPy's would take the memory of the model once more
            made[param.name] = tvm.runtime.tensor(np.concatenate(list(chunks)).reshape(param.shape))
    return made


def weights_of(source: ModelSource, model_type: str | None) -> list[models.WeightSource]:
    """The model's weight map, checked against its tensors; without a part that drafts."""
    config = source.hf_config()
    name = model_type or models.model_type_of(config)
    family, typed, tensors = models.get(name), models.config_from_hf(config, name), source.tensors()
    needed = [one for one in family.weight_map(typed, source.format) if not one.draft]
    weights = as_in_files(needed, tensors)
    check_tensors(weights, tensors, quantization.get(_PLAIN))
    return weights


def _address(tensor: Any) -> int:
    return int(np.from_dlpack(tensor).ctypes.data)


def _zeros(shape: Sequence[int], dtype: str) -> Any:
    return tvm.runtime.tensor(np.zeros(shape, dtype))
