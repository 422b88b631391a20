"""A mixer that nobody has: its module, its kernel and a family are all that it needs.

Here all three are in one file. (A real kind's kernels are in `kernels/cpu` and `kernels/gpu`.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import toy_reference
from toy_family import MLP, NEAR, NORM, ToyConfig
from vm_runner import Runner

from mlc_llm.compiler import reference
from mlc_llm.compiler.spec import LayerSpec, Parameter, Place, Tensor
from mlc_llm.compiler.spec.part import Mixer

IDS = [int(i) for i in np.random.RandomState(5).randint(0, 300, 21)]


@dataclass(frozen=True, kw_only=True)
class FadingSpec(Mixer):
    """Recurrent: out(state), with state = keep * state + x; `keep` is learned, of each channel."""

    tensors = {"keep": Tensor("fading.keep"), "fading_out": Tensor("fading.out_proj")}

    def parameters(self, at: Place) -> Iterator[Parameter]:
        yield at.vector("keep", at.hidden)
        yield from at.linear("fading_out", (at.hidden,), at.hidden)

    def build(self, nn: Any, at: Place) -> Any:
        from mlc_llm.compiler.layers.states import Recurrence

        out = nn.linear(at.name("fading_out"), at.hidden, at.hidden)
        shape = SimpleNamespace(state=(at.hidden,), width=at.hidden)
        states = Recurrence(nn, at, shape)

        def mixed(x: Any, batch: Any, memory: Any, residual: Any = None) -> Any:
            kernel = nn.kernel("fade", at.hidden, partial(fade, at.hidden))
            args = [nn.plain(x), nn.param(f"{at.name('keep')}.weight")]
            (made,) = states.results(batch, memory, kernel, args)
            return out(made, residual)

        return mixed

    def reference(self, at: reference.Reference, x: np.ndarray) -> np.ndarray:
        state, made = np.zeros(at.hidden), np.zeros_like(x)
        for n in range(len(x)):
            made[n] = state = at.weight("keep") * state + x[n]
        return at.linear("fading_out", made)


def fade(width: int) -> Any:
    """f(x, keep, state_source, row_indptr, state_writes, states, y)."""
    from tvm.tirx.script import builder as T

    from mlc_llm.compiler.kernels.common.function import Arg, kernel
    from mlc_llm.compiler.kernels.common.recurrent import step_args

    def body(x, keep, source, indptr, writes, states, y) -> None:
        with T.serial(source.shape[0]) as s, T.serial(width) as d, T.sblock("fade"):
            T.reads()
            T.writes()
            state = T.sblock_alloc_buffer((1,), "float32")
            first = T.Select(source[s] < 0, T.float32(0), states[T.max(source[s], 0), d])
            T.buffer_store(state, first, [0])
            with T.serial(indptr[s + 1] - indptr[s]) as i:
                row = indptr[s] + i
                T.buffer_store(state, keep[d] * state[0] + x[row, d], [0])
                T.buffer_store(y, state[0], [row, d])
                with T.If(writes[row] >= 0), T.Then():
                    T.buffer_store(states, state[0], [writes[row], d])

    x, y = (Arg(name, ("n", width)) for name in "xy")
    return kernel([x, Arg("keep", (width,)), *step_args(width), y], body)


CONFIG = ToyConfig(
    layers=(LayerSpec((FadingSpec(), MLP), norm=NORM), LayerSpec((NEAR, MLP), norm=NORM))
)


def test_a_new_kind_of_mixer_is_a_module_its_kernel_and_a_family() -> None:
    params = {
        name: value * 0.3 if name.endswith("keep.weight") else value
        for name, value in toy_reference.weights(CONFIG).items()
    }
    spec = toy_reference.FAMILY.decoder(CONFIG)
    want = reference.logits(spec, params, IDS)
    runner = Runner(toy_reference.module(CONFIG), params, num_pages=8)
    assert runner.metadata["states"] == [{"layer": 0, "shape": [48], "dtype": "float32"}]
    first, rest = (runner.forward([("a", part)]) for part in (IDS[:9], IDS[9:]))
    assert np.abs(np.concatenate([first, rest]) - want).max() < 1e-5 * np.abs(want).max()
    still = {n: v * 0 if n.endswith("keep.weight") else v for n, v in params.items()}
    assert np.abs(reference.logits(spec, still, IDS) - want).max() > 0.01 * np.abs(want).max()
