"""What each kernel of a step takes on this machine's CPU: seconds, bytes, operations.

    program = StepProgram(Path("model.so"), shapes={"lm_head": (49152, 576)})
    program.times(Step(batch=1, rows=1, history=512), seconds=2.0)

It makes the calls of the library's step (`programs.py`) one after another, as the core does, with
random weights: the time of a kernel does not depend on their values. Loops run on the threads of
`libmlc_llm`, the engine's. What Python takes to call a kernel is measured and subtracted.
"""

from __future__ import annotations

import ctypes
import json
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from mlc_llm import _core
from mlc_llm.compiler import lowering, models, targets
from mlc_llm.compiler.kernels.common.function import Arg, kernel
from mlc_llm.compiler.library import LibrarySpec
from mlc_llm.compiler.models import mlc_folders
from mlc_llm.compiler.programs import ADAPTER, CONSTANT, EMPTY, INPUT, PAGES, STATE, WEIGHT
from mlc_llm.compiler.step_shape import Step
from mlc_llm.errors import InvalidRequestError, UnsupportedError

_STEP = "batch_prefill"
_MOST_RUNS, _LEAST_RUNS = 200, 5
_WEIGHT = 0.02  # the size of random weights: rows stay numbers


@dataclass(frozen=True)
class KernelTime:
    """Of all calls of a kernel in a step, with weights of the same shape."""

    kernel: str  # its name, and the outputs and inputs of its weights
    calls: int
    seconds: float
    bytes: int  # weights, pages and rows that must be read or written
    operations: int  # multiplications and additions of products and of attention
    of_integers: bool  # whether these are products of integers


@dataclass(frozen=True)
class _Call:
    kernel: str
    function: Any
    names: tuple[str, ...]  # of its tensors, in the program
    tensors: tuple[Any, ...]

    @property
    def has_codes(self) -> bool:
        """Whether its rows are integers."""
        rows = [t for name, t in zip(self.names, self.tensors, strict=True) if name[0] == "t"]
        return any(str(tensor.dtype).startswith(("int", "uint")) for tensor in rows)


class StepProgram:
    """The step of a CPU's library. `shapes`: (out, in) of weights, by their names without what
    stands behind the last point; those of experts have an axis before it. `chosen`: experts of a
    token."""

    def __init__(
        self, library: Path, shapes: Mapping[str, Sequence[int]] | None = None, chosen: int = 1
    ) -> None:
        self._library, self._machine = _loaded(library)
        self._metadata = json.loads(str(self._machine["_metadata"]()))
        if self._metadata["target"]["kind"] != "llvm" or not self._has_program():
            raise UnsupportedError(
                "kernels are timed on CPUs, and of models with a step", param="device"
            )
        everything = json.loads(str(self._machine["_programs"]()))
        self._program = everything[_STEP]
        self._constants = [
            self._machine[f"_constant_{i}"]() for i in range(everything["constants"])
        ]
        self._params = self._metadata["params"]
        self._weights = [_random(one["shape"], one["dtype"]) for one in self._params]
        self._shapes, self._chosen = dict(shapes or {}), chosen
        self._overhead = _overhead()

    def times(self, step: Step, seconds: float = 1.0) -> list[KernelTime]:
        """The longest ones first. `seconds`: for how long it is measured."""
        calls = self._calls(step)
        taken = _measured(calls, seconds)
        found: dict[str, KernelTime] = {}
        for call, time_ in zip(calls, taken, strict=True):
            name = " ".join([call.kernel, *self._products(call)])
            before = found.get(name, KernelTime(name, 0, 0.0, 0, 0, call.has_codes))
            found[name] = replace(
                before,
                calls=before.calls + 1,
                seconds=before.seconds + max(0.0, time_ - self._overhead),
                bytes=before.bytes + self._bytes(call, step),
                operations=before.operations + self._operations(call, step),
            )
        return sorted(found.values(), key=lambda one: -one.seconds)

    def _has_program(self) -> bool:
        try:
            self._machine["_programs"]
        except (AttributeError, ValueError, KeyError):
            return False
        return _STEP in self._metadata["functions"]

    def _calls(self, step: Step) -> list[_Call]:
        """Those that have something to do, with their tensors."""
        inputs = self._inputs(step)
        sizes = {**step.sizes, **{s: 0 for s in self._run_time_sizes()}}
        sizes |= {
            one["shape"][0]: int(inputs[i].shape[0])
            for i, one in enumerate(self._program["inputs"])
        }
        tensors: dict[str, Any] = {f"{INPUT}{i}": one for i, one in enumerate(inputs)}
        tensors |= {f"{WEIGHT}{i}": one for i, one in enumerate(self._weights)}
        tensors |= {f"{CONSTANT}{i}": one for i, one in enumerate(self._constants)}
        pages = step.sizes["num_pages"]
        for i, layer in enumerate(self._metadata["kv_cache"]["layers"]):
            tensors[f"{PAGES}{i}"] = _random((pages, *layer["page_shape"]), layer["dtype"])
        for i, state in enumerate(self._metadata.get("states", ())):
            tensors[f"{STATE}{i}"] = _random((step.batch, *state["shape"]), state["dtype"])
        tensors |= self._temporaries(sizes)
        rows = {name: tensor.shape[0] for name, tensor in tensors.items() if len(tensor.shape)}
        made = []
        for name, *arguments in self._program["calls"]:
            given = [one for one in arguments if not one.endswith(EMPTY)]
            if any(one.startswith(ADAPTER) for one in given) or len(given) < len(arguments):
                continue  # what adapters add, and what replaces it
            if any(rows.get(one) == 0 for one in given if one[0] in "it"):
                continue
            function = self._library.get_function(name, True)
            made.append(_Call(name, function, tuple(given), tuple(tensors[one] for one in given)))
        return made

    def _run_time_sizes(self) -> set[str]:
        shapes = (one["shape"] for one in (*self._program["inputs"], *self._program["temporaries"]))
        return {shape[0] for shape in shapes if isinstance(shape[0], str)}

    def _inputs(self, step: Step) -> list[Any]:
        positions = step.indices()["positions"]
        ends = np.arange(step.batch + 1) * step.rows
        given = {
            **step.indices(),
            "last_seen": positions,
            "rotary": np.repeat(positions[:, None], 3, 1),
            "windowed_slots": step.indices()["slots"],
            "windowed_indices": step.indices()["page_indices"],
            "state_source": np.arange(step.batch),
            "row_indptr": ends,
            "state_writes": np.full(len(positions), -1),
        }
        made = []
        for one in self._program["inputs"]:
            _, *row = one["shape"]
            if one["name"] in given:
                value = np.ascontiguousarray(given[one["name"]].astype(one["dtype"]))
                made.append(tvm.runtime.tensor(value))
            else:
                count = step.sizes["n"] if one["shape"][0] == "n" else 0
                made.append(_random((count, *row), one["dtype"]))
        return made

    def _temporaries(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        """They share buffers as in the core."""
        buffers = [
            tvm.runtime.empty((max(64, (sizes[size] if size else 1) * width),), "uint8")
            for size, width in self._program["buffers"]
        ]
        found = {}
        for index, one in enumerate(self._program["temporaries"]):
            shape = tuple(sizes[e] if isinstance(e, str) else e for e in one["shape"])
            found[f"t{index}"] = buffers[one["buffer"]]._create_view(shape, one["dtype"])
        return found

    def _bytes(self, call: _Call, step: Step) -> int:
        total = 0
        for name, tensor in zip(call.names, call.tensors, strict=True):
            size = math.prod(tensor.shape) * tvm.DataType(str(tensor.dtype)).itemsize
            if name.startswith(PAGES):
                tokens = step.batch * (step.history + step.rows)
                needed = tokens if "attention" in call.kernel else step.batch * step.rows
                size = size * needed // max(1, tensor.shape[0] * self._page_size)
            elif name.startswith(CONSTANT):  # a table, of which rows are read
                size = min(size, size // max(1, tensor.shape[0]) * step.batch * step.rows)
            elif name.startswith(WEIGHT):
                size = int(size * self._share_of_experts(int(name[1:]), step))
            elif self._is_scratch(name, call):
                continue
            total += size
        return total

    @property
    def _page_size(self) -> int:
        return int(self._metadata["kv_cache"]["page_size"])

    def _share_of_experts(self, weight: int, step: Step) -> float:
        shape = self._shape_of(weight)
        rows = step.batch * step.rows
        return min(1.0, self._chosen * rows / shape[0]) if shape and len(shape) == 3 else 1.0

    def _is_scratch(self, name: str, call: _Call) -> bool:
        """Whether only calls of this kernel have the tensor, in one place."""
        users = {
            (one[0], place)
            for one in self._program["calls"]
            for place, other in enumerate(one[1:])
            if other == name
        }
        return users == {(call.kernel, call.names.index(name))}

    def _operations(self, call: _Call, step: Step) -> int:
        rows = [t.shape for name, t in zip(call.names, call.tensors, strict=True) if name[0] == "t"]
        if "attention" in call.kernel and rows:
            widest = max(math.prod(shape[1:]) for shape in rows if shape[0] == step.sizes["n"])
            return 4 * step.attended * widest
        shapes = self._shapes_of(call)
        if not shapes or not rows:
            return 0
        count = rows[-1][0] if rows[-1][0] in (step.sizes["n"], step.batch) else step.sizes["n"]
        products = (
            math.prod(shape[-2:]) * (self._chosen if len(shape) == 3 else 1) for shape in shapes
        )
        return 2 * count * sum(products)

    def _products(self, call: _Call) -> list[str]:
        return [f"{shape[-2]}x{shape[-1]}" for shape in self._shapes_of(call)]

    def _shapes_of(self, call: _Call) -> list[tuple[int, ...]]:
        """Of the matrices that it multiplies."""
        weights = (self._shape_of(int(name[1:])) for name in call.names if name[0] == WEIGHT)
        return sorted({tuple(shape) for shape in weights if shape and len(shape) > 1})

    def _shape_of(self, weight: int) -> Sequence[int] | None:
        name: str = self._params[weight]["name"]
        return self._shapes.get(name.rpartition(".")[0])


def weight_shapes(spec: LibrarySpec) -> tuple[dict[str, tuple[int, ...]], int]:
    """What `StepProgram` wants to know of a model."""
    family = models.get(mlc_folders.text_type(spec.model_type))
    weights = family.weight_map(spec.config)
    shapes = {one.name.rpartition(".")[0]: one.shape for one in weights if one.quantizable}
    parts = (part for layer in family.decoder(spec.config).layers for part in layer.parts)
    routers = [router for part in parts if (router := getattr(part, "router", None))]
    return shapes, max((router.chosen for router in routers), default=1)


def _loaded(library: Path) -> tuple[Any, Any]:
    """A model library and its machine."""
    try:
        module = tvm.runtime.load_module(str(library))
        share_loops(library)
        return module, tvm.relax.VirtualMachine(module, tvm.cpu())
    except (OSError, RuntimeError, ValueError, AttributeError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidRequestError(
            f"{library} is no model library that this machine runs: {why}", param="model_lib"
        ) from error


def share_loops(library: Path) -> None:
    """The library's loops run on the threads of `libmlc_llm` (docs/model-library.md). The library
    is loaded already."""
    core = ctypes.CDLL(str(Path(_core.__file__).parent / "libmlc_llm.so"))
    launch = ctypes.cast(core.mlc_backend_launch_loops, ctypes.c_void_p)
    shared = ctypes.CDLL(str(library))
    ctypes.c_void_p.in_dll(shared, "__TVMBackendParallelLaunch").value = launch.value


def _measured(calls: Sequence[_Call], seconds: float) -> list[float]:
    """The median time of each call, in runs of all of them."""
    taken: list[list[int]] = [[] for _ in calls]
    clock, deadline = time.perf_counter_ns, 0.0
    for run in range(_MOST_RUNS + 1):
        for call, times in zip(calls, taken, strict=True):
            begin = clock()
            call.function(*call.tensors)
            times.append(clock() - begin)
        if run == 0:  # memory was touched for the first time
            taken = [[] for _ in calls]
            deadline = time.monotonic() + seconds
        elif run >= _LEAST_RUNS and time.monotonic() > deadline:
            break
    return [statistics.median(times) * 1e-9 for times in taken]


def _overhead() -> float:
    """Seconds of a call from Python that does nothing."""
    args = [Arg(f"x{i}", (f"rows{i}", 16)) for i in range(6)]

    def body(*_: Any) -> None:
        from tvm.tirx.script import builder as T

        T.evaluate(0)

    function = kernel(args, body).with_attr("global_symbol", "nothing")
    module = tvm.IRModule({"nothing": function})
    entry = tvm.compile(module, target=targets.host().target(), tir_pipeline=lowering.CPU)[
        "nothing"
    ]
    tensors = tuple(_random((1, 16), "float32") for _ in args)
    times = _measured([_Call("nothing", entry, (), tensors)] * 50, 0.01)
    return statistics.median(times)


def _random(shape: Sequence[int], dtype: str) -> Any:
    rng = np.random.default_rng(0)
    if dtype.startswith("float"):
        values = rng.uniform(-_WEIGHT, _WEIGHT, 4096) + (len(shape) == 1)
        return tvm.runtime.tensor(np.resize(values, shape).astype(dtype))
    if dtype.startswith(("int", "uint")):
        octets = rng.integers(0, 256, 4096, np.uint8)
        count = math.prod(shape) * np.dtype(dtype).itemsize
        return tvm.runtime.tensor(np.resize(octets, count).view(dtype).reshape(shape))
    return tvm.runtime.empty(tuple(shape), dtype)
