"""An encoder on GPUs: the vectors are those of the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import gpu_engines
import numpy as np
import pytest

pytest.importorskip("tvm")
sys.path.append(str(Path(__file__).parents[1] / "compiler" / "support"))

from tiny_encoders import write_folder  # noqa: E402

from mlc_llm import MLCEngine  # noqa: E402
from mlc_llm.compiler.convert import convert_model, open_source  # noqa: E402

TEXTS = ["abc de f", "x", "zebra yak " * 3, "the quick brown fox"]


LONG = pytest.mark.skipif("not config.getoption('--long', default=False)")


@pytest.mark.parametrize(
    ("device", "scheme"), [("opencl", "q0f32"), pytest.param("vulkan", "q0f16", marks=LONG)]
)
def test_vectors_are_those_of_the_cpu(
    device: str, scheme: str, tmp_path: Path, library_of: gpu_engines.LibraryOf
) -> None:
    gpu_engines.require(device)
    if scheme == "q0f16":
        gpu_engines.require_half(device)
    source = open_source(write_folder(tmp_path / "bert", "pooling_mode_mean_tokens"))
    convert_model(source, tmp_path / "made", quantization=scheme)
    found = []
    for kind in ("cpu", device):
        model = gpu_engines.compiled(tmp_path / "made", library_of, device=kind)
        with MLCEngine(model.folder, model_lib=str(model.model_lib), device=kind) as engine:
            answer = engine.embeddings.create(input=TEXTS)
            alone = engine.embeddings.create(input=TEXTS[2])
            assert alone.data[0].embedding == answer.data[2].embedding
            found.append(np.array([item.embedding for item in answer.data]))
    limit = 1e-5 if scheme == "q0f32" else 2e-2
    assert np.abs(found[0] - found[1]).max() < limit
