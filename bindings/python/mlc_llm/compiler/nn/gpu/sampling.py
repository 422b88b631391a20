"""Functions of a library that choose tokens on a GPU, from logits in the GPU's memory.

    sample_greedy   the likeliest token
    sample          by temperature and min_p; the likeliest token if top_k is 1
    sample_top_p    the same with top_p
    sample_top_k    the same with top_k, then top_p
    sample_every    the same, with top_n_sigma before and XTC behind

Each is f(logits [m, vocabulary], tasks i32 [n, TASK_WORDS], extra i32 [w]) -> tokens i32 [n]; the
words are named in `codegen/schema/sampling.py`. A row of logits belongs to at most one task. The
functions overwrite the logits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tvm import relax, tirx

from mlc_llm.compiler.kernels.gpu import sampling, sampling_cut, sampling_exclude
from mlc_llm.compiler.kernels.gpu.sampler_words_gen import SAMPLER_VERSION, TASK_WORDS
from mlc_llm.compiler.kernels.gpu.sampling_rows import CUT_WORDS, Rows
from mlc_llm.compiler.nn.function_inputs import Input

if TYPE_CHECKING:
    from mlc_llm.compiler.nn.builder import Builder


@dataclass(frozen=True)
class Steps:
    """What a function does. `searches`: for the tokens that remain, in order; None: only the
    likeliest is wanted. `excludes`: by top_n_sigma and XTC too."""

    searches: tuple[int, ...] | None = None
    excludes: bool = False


_BOTH = (sampling_cut.TOP_K_KIND, sampling_cut.TOP_P_KIND)
FUNCTIONS = {
    "sample_greedy": Steps(),
    "sample": Steps(()),
    "sample_top_p": Steps((sampling_cut.TOP_P_KIND,)),
    "sample_top_k": Steps(_BOTH),
    "sample_every": Steps(_BOTH, excludes=True),
}
_KERNELS: dict[str, Callable[[Rows], tirx.PrimFunc]] = {
    **vars(sampling), **vars(sampling_cut), **vars(sampling_exclude)
}  # fmt: skip


class Sampler:
    """Emits the kernel calls of one function that chooses tokens."""

    def __init__(self, nn: Builder, logits: Any, tasks: Any, extra: Any, *, columns: int) -> None:
        self.nn, self.rows = nn, Rows.of(columns)
        self.logits, self.tasks, self.extra = logits, tasks, extra
        self.count = tasks.ty.shape[0]

    def sample(self, steps: Steps) -> Any:
        self.logits = self._in_place("adjust", [self.tasks, self.extra], [])[0]
        parts = [self._of_parts(), self._of_parts("int32")]
        if steps.excludes:
            spread = self._call("spread", [self.tasks, self.logits], self._tensor(()))
        self.logits, *likely = self._in_place("maxima", [self.tasks, self.extra], parts)
        if steps.searches is None:
            return self._call("pick", likely, self._tensor((), "int32"))
        if steps.excludes:
            self.logits = self._in_place("near", [self.tasks, *likely, spread], [])[0]
        self.logits, sums = self._in_place("weigh", [self.tasks, *likely], [self._of_parts()])
        cut = self._call("whole", [sums], self._tensor((CUT_WORDS,), "int32"))
        for kind in steps.searches:
            cut = self._search(kind, cut)
        masses = self._call("measure", [self.tasks, cut, self.logits], parts)
        if steps.excludes:
            self.logits = self._in_place("exclude", [self.tasks, cut, *masses], [])[0]
            masses = self._call("measure", [self.tasks, cut, self.logits], parts)
        args = [self.tasks, *likely, cut, *masses, self.logits]
        return self._call("draw", args, self._tensor((), "int32"))

    def _search(self, kind: int, cut: Any) -> Any:
        state_type = self._tensor((sampling_cut.STATE_WORDS,), "int32")
        digits = [self._tensor((self.rows.parts, sampling_cut.DIGITS))] * 2
        name = "aim_top_k" if kind == sampling_cut.TOP_K_KIND else "aim_top_p"
        make = partial(sampling_cut.aim, kind)
        state = self._emit(name, kind, make, [self.tasks, cut], state_type)
        found = self._call("first_digit", [self.tasks, state, self.logits], digits)
        for _ in range(sampling_cut.ROUNDS - 1):
            args = [self.tasks, state, *found, self.logits]
            state, *found = self._call("next_digit", args, [state_type, *digits])
        return self._call("settle", [state, *found, cut], cut.ty)

    def _tensor(self, shape: tuple[int, ...], dtype: str = "float32") -> relax.TensorType:
        return relax.TensorType([self.count, *shape], dtype)

    def _of_parts(self, dtype: str = "float32") -> relax.TensorType:
        return self._tensor((self.rows.parts,), dtype)

    def _emit(
        self, name: str, key: Any, make: Callable[[], tirx.PrimFunc], args: list[Any], out: Any
    ) -> Any:
        kernel = self.nn.kernel(name, key, make)
        made = self.nn.call(kernel, args, out)
        return self._items(made, len(out)) if isinstance(out, list) else made

    def _call(self, name: str, args: list[Any], out: Any) -> Any:
        make = _KERNELS[name]
        return self._emit(name, self.rows, lambda: make(self.rows), args, out)

    def _in_place(self, name: str, args: list[Any], made: list[Any]) -> list[Any]:
        """Calls a kernel that changes the logits. Returns the logits, then its other results."""
        make = _KERNELS[name]
        kernel = self.nn.kernel(name, self.rows, lambda: make(self.rows))
        changed = [len(args), *([-1] * len(made))]
        out = self.nn.call_in_place(kernel, [*args, self.logits], changed, [self.logits.ty, *made])
        return self._items(out, 1 + len(made)) if made else [out]

    def _items(self, made: Any, count: int) -> list[Any]:
        return [self.nn.block.emit(relax.TupleGetItem(made, i)) for i in range(count)]


def describe() -> dict[str, Any]:
    """The part of a library's metadata about sampling."""
    return {"version": SAMPLER_VERSION, "functions": list(FUNCTIONS)}


def build(nn: Builder, columns: int) -> None:
    """Adds the functions to the library."""
    inputs = {
        "logits": Input(("m", columns)),
        "tasks": Input(("n", TASK_WORDS), "int32"),
        "extra": Input(("w",), "int32"),
    }
    for name, steps in FUNCTIONS.items():
        with nn.function(name, inputs, bounds={}, params=False) as f:
            arguments = [nn.block.emit(f[key]) for key in inputs]
            f.results = {"tokens": Sampler(nn, *arguments, columns=columns).sample(steps)}
