"""Towers on GPUs: rows of pictures against programs that are not ours, on every backend here; and
code for devices that are not here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")

import gpu_tools  # noqa: E402
import tvm  # noqa: E402
from kernel_tools import Array, frozen  # noqa: E402
from quick_compile import unoptimized  # noqa: E402
from test_patch_kernels import attended  # noqa: E402
from test_tower import EIGHT_BITS, TOLERANCE, apart, far  # noqa: E402
from tower_fixtures import NAMES, Fixture, load  # noqa: E402

from mlc_llm.compiler import nvrtc, pipeline, quantization, targets  # noqa: E402
from mlc_llm.compiler.kernels.gpu import patch_attention  # noqa: E402
from mlc_llm.compiler.nn.builder import Builder  # noqa: E402
from mlc_llm.compiler.nn.tower import Tower  # noqa: E402
from mlc_llm.compiler.quantization.stored import StoredParam  # noqa: E402
from mlc_llm.compiler.spec.tower_weights import tower_weights  # noqa: E402

ALWAYS = ("smolvlm", "gemma3", "llava", "qwen2_5_vl")
ELSEWHERE = ("metal", "opencl:adreno", "cuda", "opencl:mali")  # devices that are not here
HALF_TOLERANCE = 5e-3  # of float16 weights, as on a CPU; all else is float32


@pytest.fixture(params=gpu_tools.BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    gpu_tools.require(request.param)
    return str(request.param)


def module_of(
    fixture: Fixture, device: Any, scheme: str, tower: str | None = None
) -> tuple[Any, list[str], list[StoredParam]]:
    """The tower without its text model; the names of its inputs, and its parameters."""
    chosen = quantization.with_tower(quantization.get(scheme), tower)
    nn = Builder(chosen, device, tower_weights(fixture.tower))
    made = Tower(nn, fixture.tower)
    with nn.function("image_embed", made.inputs(), bounds={}) as f:
        f.results = {"rows": made(f)}
    return nn.finish(), list(made.inputs()), nn.params


class TowerOn:
    def __init__(
        self, fixture: Fixture, backend: str, scheme: str = "q0f32", tower: str | None = None
    ) -> None:
        device = unoptimized(targets.resolve(backend))
        module, self.names, params = module_of(fixture, device, scheme, tower)
        library = gpu_tools.reloaded(pipeline.build(module, device))
        self.device = tvm.device(backend, 0)
        self.machine = tvm.relax.VirtualMachine(library, self.device)
        values = fixture.params(scheme, tower)
        self.params = [
            self._tensor(values[param.name].view(param.dtype).reshape(param.shape))
            for param in params
        ]

    def _tensor(self, value: Array) -> Any:
        return tvm.runtime.tensor(np.ascontiguousarray(value), self.device)

    def __call__(self, inputs: dict[str, Array]) -> Array:
        given = [self._tensor(inputs[name]) for name in self.names]
        made: Array = self.machine["image_embed"](*given, self.params)[0].numpy()
        return made


@pytest.mark.parametrize("name", NAMES)
def test_a_gpu_gives_the_references_rows(name: str, backend: str, request: Any) -> None:
    if name not in ALWAYS and not request.config.getoption("--long"):
        pytest.skip("compiles a tower for each family; run with --long")
    fixture = load(name)
    tower, inputs = TowerOn(fixture, backend), fixture.inputs(fixture.pixels)
    made = tower(inputs)
    assert apart(made, fixture.rows) < TOLERANCE
    alone = tower(fixture.inputs(fixture.pixels[1:]))
    assert apart(alone, made[len(made) - len(alone) :]) < 1e-5, "views change each other"
    chosen = tower({**inputs, "first_patches": inputs["first_patches"][::-3].copy()})
    assert apart(chosen, made[::-3]) < 1e-5


def test_float16_weights_are_close(backend: str) -> None:
    """A device without 16-bit floats reads them as words."""
    scheme = "q4f16_1" if gpu_tools.facts(backend)["f16"] else "q4f32_1"
    fixture = load("smolvlm")
    made = TowerOn(fixture, backend, scheme)(fixture.inputs(fixture.pixels))
    assert 0 < apart(made, fixture.rows) < HALF_TOLERANCE


def test_weights_of_8_bits_are_multiplied_as_floats(backend: str) -> None:
    fixture = load("smolvlm")
    made = TowerOn(fixture, backend, tower="q8f32_1")(fixture.inputs(fixture.pixels))
    assert HALF_TOLERANCE < far(made, fixture.rows) < EIGHT_BITS / 4


# Heads that fill whole vectors and that do not; views of one patch, of less and more than a tile.
@pytest.mark.parametrize(("heads", "dim"), [(2, 72), (1, 80), (2, 12), (1, 128)])
def test_patches_attend_to_their_view(heads: int, dim: int, backend: str) -> None:
    rng, views = np.random.default_rng(dim), np.array([0, 1, 21, 130, 230], np.int32)
    qkv = rng.standard_normal((230, 3 * heads * dim)).astype(np.float32) * 2
    limits = targets.GPUS[backend].tiles
    function = patch_attention.patch_attention(heads, dim, dim**-0.5, limits=limits)
    kernel = gpu_tools.compiled(function, backend=backend)
    y = np.full((230, heads * dim), np.nan, np.float32)
    kernel(frozen(qkv), frozen(views), y)
    np.testing.assert_allclose(y, attended(qkv, views, heads, dim**-0.5), rtol=1e-4, atol=1e-5)
    alone = np.full((109, heads * dim), np.nan, np.float32)
    kernel(frozen(qkv[21:130]), frozen(np.array([0, 109], np.int32)), alone)
    assert np.array_equal(alone, y[21:130]), "a view's result depends on the other views"


@pytest.mark.parametrize("device", ELSEWHERE)
@pytest.mark.parametrize("name", ALWAYS)
def test_code_is_generated(
    name: str, device: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    is_usual = ALWAYS.index(name) == ELSEWHERE.index(device)  # each tower, and each device, once
    if not is_usual and not pytestconfig.getoption("--long"):
        pytest.skip("compiles every tower for every device; run with --long")
    if device == "cuda" and not nvrtc.is_installed():
        pytest.skip("NVRTC is not installed")
    gpu = targets.resolve(device)
    module, _, _ = module_of(load(name), gpu, "q4f16_1")
    pipeline.build(module, gpu).export_library(str(tmp_path / "tower.so"))
    assert b"patch_attention" in (tmp_path / "tower.so").read_bytes()
