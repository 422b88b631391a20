"""Tokens chosen on devices against NumPy float64, on every backend here: random rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

pytest.importorskip("tvm")

import gpu_tools  # noqa: E402
from kernel_tools import frozen  # noqa: E402
from sampling_tools import Array, Task, expected, packed, random_task  # noqa: E402

from mlc_llm.compiler import quantization, targets  # noqa: E402
from mlc_llm.compiler.kernels.gpu import sampling  # noqa: E402
from mlc_llm.compiler.kernels.gpu.sampling_rows import Rows  # noqa: E402
from mlc_llm.compiler.nn.builder import Builder  # noqa: E402
from mlc_llm.compiler.nn.gpu import sampling as gpu_sampling  # noqa: E402

COLUMNS = (99, 3000)  # one part and several, the last one not full
FUNCTIONS = tuple(gpu_sampling.FUNCTIONS)
# Sums of 32-bit floats decide what lies nearer than this to an edge.
TOLERANCE = 2e-6


@pytest.fixture(params=gpu_tools.BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    gpu_tools.require(request.param)
    return request.param


@cache
def functions(backend: str, columns: int) -> dict[str, Callable[..., Array]]:
    nn = Builder(quantization.get("q0f32"), targets.resolve(backend), [])
    gpu_sampling.build(nn, columns)
    return gpu_tools.loaded(nn.finish(), FUNCTIONS, backend)


@dataclass(frozen=True)
class Chooser:
    backend: str

    def __call__(self, name: str, logits: Array, tasks: list[Task]) -> list[int]:
        columns = logits.shape[1]
        function = functions(self.backend, columns)[name]
        return [int(token) for token in function(logits, *packed(tasks, columns))]

    def check(self, name: str, logits: Array, tasks: list[Task]) -> int:
        """How many were decided by more than rounding, and so were compared."""
        compared = 0
        for task, token in zip(tasks, self(name, logits, tasks), strict=True):
            wanted, margin = expected(logits[task.row], task)
            if margin > TOLERANCE:
                assert token == wanted, (name, task)
                compared += 1
        return compared


@pytest.fixture
def choose(backend: str) -> Chooser:
    return Chooser(backend)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("columns", COLUMNS)
def test_the_token_is_numpys(name: str, columns: int, choose: Chooser) -> None:
    rng = np.random.default_rng(columns)
    compared = 0
    for spread in (0.0, 1.0, 4.0, 15.0):
        logits = (rng.standard_normal((12, columns)) * spread).astype(np.float32)
        tasks = [
            random_task(
                rng,
                int(row),
                columns,
                top_k=name in ("sample_top_k", "sample_every"),
                every=name == "sample_every",
            )
            for row in rng.permutation(12)
        ]
        for task in tasks:
            task.temperature = 0 if name == "sample_greedy" else task.temperature
            task.top_p = 1 if name == "sample" else task.top_p
        compared += choose.check(name, logits, tasks)
    assert compared > 40


@pytest.mark.parametrize("columns", COLUMNS)
def test_the_whole_range_of_random_numbers(columns: int, choose: Chooser) -> None:
    rng = np.random.default_rng(5)
    row = (rng.standard_normal(columns) * 3).astype(np.float32)
    grid = [0.0, 1 - 2**-24, *((np.arange(30) + 0.5) / 30)]
    for top_p in (1.0, 0.9):
        tasks = [Task(row=i, top_p=top_p, uniform=float(u)) for i, u in enumerate(grid)]
        assert choose.check("sample_top_p", np.tile(row, (len(grid), 1)), tasks) > 25


@pytest.mark.parametrize("columns", COLUMNS)
def test_of_equal_tokens_the_lower_ids_are_left(columns: int, choose: Chooser) -> None:
    """Everything is equally likely: exact in floats, at every edge."""
    logits = np.zeros((8, columns), np.float32)
    uniforms = (0.0, 0.25, 0.5, 1 - 2**-24)
    tasks = [Task(row=i, top_k=4, uniform=u) for i, u in enumerate(uniforms)]
    assert choose("sample_top_k", logits, tasks) == [0, 1, 2, 3]
    allowed = np.zeros(columns, bool)
    allowed[-8:] = True  # in the last part
    tasks = [Task(row=i, top_p=0.5, uniform=u, allowed=allowed) for i, u in enumerate(uniforms)]
    wanted = [columns - 8 + i for i in range(4)]
    assert choose("sample_top_p", logits.copy(), tasks) == wanted
    assert choose("sample_greedy", logits.copy(), [Task(row=0, allowed=allowed)]) == [columns - 8]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_without_a_token_say_so(name: str, choose: Chooser) -> None:
    columns = COLUMNS[1]
    logits = np.zeros((7, columns), np.float32)
    logits[0, 5] = np.nan
    logits[1, columns - 1] = np.inf
    logits[2] = -np.inf
    logits[3, : columns - 1] = -np.inf
    logits[4, 7] = np.nan
    others = np.arange(columns) != 7
    tasks = [Task(row=i, temperature=0) for i in range(4)]
    tasks += [Task(row=4, temperature=0, allowed=others)]
    tasks += [Task(row=5, temperature=0, allowed=np.zeros(columns, bool))]
    tasks += [Task(row=6, temperature=0, changes={9: (1.0, 1.0, 0.0)})]
    assert choose(name, logits, tasks) == [-1, -1, -1, columns - 1, 0, -1, 9]
    for task in tasks:
        task.temperature = 1.0
    if name != "sample_greedy":
        chosen = choose(name, logits, tasks)
        assert [token < 0 for token in chosen] == [True, True, True, False, False, True, False]


def test_a_row_does_not_depend_on_its_company(choose: Chooser) -> None:
    rng = np.random.default_rng(8)
    logits = (rng.standard_normal((40, 3000)) * 2).astype(np.float32)
    tasks = [random_task(rng, i, 3000, top_k=True) for i in range(40)]
    together = choose("sample_top_k", logits, tasks)
    for i in range(0, 40, 7):
        assert choose("sample_top_k", logits, [tasks[i]]) == [together[i]]


def test_a_vocabulary_of_a_large_model(choose: Chooser) -> None:
    columns = 151_936
    assert Rows.of(columns).parts <= 128
    rng = np.random.default_rng(9)
    logits = (rng.standard_normal((3, columns)) * 12).astype(np.float32)
    tasks = [Task(row=i, top_p=0.95, uniform=0.1 + 0.4 * i) for i in range(3)]
    assert choose.check("sample_top_p", logits, tasks) == 3


def test_weights_are_those_of_the_host(backend: str) -> None:
    """e^x within two roundings, over all that counts."""
    rows = Rows(4096, 1024)
    x = np.linspace(0, -87, 4096).astype(np.float32)
    logits = x[None].copy()
    task, extra = packed([Task(row=0)], 4096)
    values = np.zeros((1, 4), np.float32)
    places, sums = np.zeros((1, 4), np.int32), np.zeros((1, 4), np.float32)
    gpu_tools.compiled(sampling.maxima(rows), backend)(
        frozen(task), frozen(extra), logits, values, places
    )
    gpu_tools.compiled(sampling.weigh(rows), backend)(
        frozen(task), frozen(values), frozen(places), logits, sums
    )
    np.testing.assert_allclose(logits[0], np.exp(x.astype(np.float64)), rtol=2.5e-7)
    np.testing.assert_allclose(sums[0], logits.reshape(4, 1024).sum(1, dtype=float), rtol=1e-6)
