"""`mlc_llm compile --debug` names the first layer that differs from NumPy's."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest
import tiny_experts
from tiny_families import Source, converted

from mlc_llm.cli import main
from mlc_llm.compiler import layer_check, models, quantization
from mlc_llm.prepare.model_source import ResolvedModel

PAGE = (Path(__file__).parents[3] / "docs/compiler-passes.md").read_text(encoding="utf-8")
SOURCE = "# my_passes.py\n" + PAGE.partition("# my_passes.py\n")[2].partition("```")[0]


OTHER_CPU = "x86-64-v2" if platform.machine() in ("aarch64", "arm64") else "aarch64"


def compile_debug(model: ResolvedModel, folder: Path, *options: str) -> int:
    library = folder / f"model{len(list(folder.iterdir()))}.so"  # a path is loaded once
    return main(["compile", str(model.folder), "-o", str(library), "--device", "cpu", "--quiet",
                 "--debug", *options])  # fmt: skip


def test_each_layer_is_compared(
    tiny_model: ResolvedModel,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert compile_debug(tiny_model, tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("layer 0") and lines[-1].startswith("the logits")
    read = layer_check.read_weights

    def damaged(folder: Path) -> dict[str, np.ndarray]:
        """The library gets other weights in its last layer than NumPy."""
        weights = dict(read(folder))
        name = f"model.layers.{len(lines) - 2}.mlp.down_proj.q_scale"
        weights[name] = weights[name] * np.float32(1.5)
        return weights

    of_library = layer_check._of_library
    monkeypatch.setattr(
        layer_check,
        "_of_library",
        lambda module, _, ids: of_library(module, damaged(Path(tiny_model.folder)), ids),
    )
    assert compile_debug(tiny_model, tmp_path) == 1
    shown = capsys.readouterr()
    marked = [line.split("  ")[0].strip() for line in shown.out.splitlines() if "differs" in line]
    assert marked == [f"layer {len(lines) - 2}"]
    assert f"layer {len(lines) - 2} differs" in shown.err


def test_a_wrong_kernel_is_seen(
    tiny_model: ResolvedModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.py").write_text(SOURCE.replace("/ root *", "/ root * T.float32(1.2) *"))
    options = ("--opt", "activation_bits=32", "--passes", str(tmp_path / "p.py"))
    assert compile_debug(tiny_model, tmp_path, *options) == 1
    assert "layer 0 differs" in capsys.readouterr().err


@pytest.mark.parametrize("scheme", ["q4f16_1", "q3f16_1"])
def test_experts_are_floats_for_numpy(scheme: str) -> None:
    c = tiny_experts.config("mixtral")
    exact, stored = (converted(Source(tiny_experts.weights(c)), c, s) for s in ("q0f32", scheme))
    weights = models.weight_map(models.config_from_hf(c), "mixtral")
    floats = layer_check._Floats(stored, quantization.get(scheme), weights)
    for name in (weight.name for weight in weights if weight.quantizable == "experts"):
        error = np.abs(floats[name] - exact[name]).max() / np.abs(exact[name]).max()
        assert 0 < error < 0.4, name


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--tensor-parallel-shards", "2"), "several shards"),
        (("--device", "opencl"), "GPUs"),
        (("--device", OTHER_CPU), "this machine's"),
        (("--lora",), "adapters"),
    ],
)
def test_what_is_not_compared_is_refused(
    tiny_model: ResolvedModel,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    words: str,
) -> None:
    assert compile_debug(tiny_model, tmp_path, *options) == 1
    assert words in capsys.readouterr().err and not list(tmp_path.glob("*.so"))
