"""An engine over a folder of each scheme: its greedy answers are those of NumPy over the floats
that the stored tensors mean; a tensor that is missing or does not fit is an error with its name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from engine_ways import Model, ask, engine_of
from gpu_engines import LibraryOf
from test_gguf_schemes import meaning
from test_quantized_engine import EXACTLY, Array, greedy

from mlc_llm.compiler.convert import convert_model, open_source
from mlc_llm.compiler.quantization import schemes
from mlc_llm.errors import CorruptFileError, InvalidRequestError
from mlc_llm.prepare.model_source import ResolvedModel

DOWN = "model.layers.1.mlp.down_proj."
NOT_READ = ("q_calibration_scale", "activation_scale")  # kernels do not need them
STACKED = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
}
ENDS = {
    "qkv_proj": [tiny_models.HEADS * tiny_models.HEAD_DIM,
                 (tiny_models.HEADS + tiny_models.KV_HEADS) * tiny_models.HEAD_DIM],
    "gate_up_proj": [tiny_models.WIDE],
}  # fmt: skip


def by_names_of_files(weights: dict[str, Array]) -> dict[str, Array]:
    """Hugging Face's names, under which the parts of stacked tensors stand apart."""
    found = {}
    for name, value in weights.items():
        module = name.removesuffix(".weight").rsplit(".", 1)[-1]
        parts = np.split(value.astype(np.float32), ENDS.get(module, []))
        for part, rows in zip(STACKED.get(module, (module,)), parts, strict=True):
            found[name.replace(module, part)] = rows
    return found


def check_faults(model: Model, tmp_path: Path) -> None:
    """Each tensor of a layer is left out, or has another shape or type."""
    folder = tmp_path / "damaged"
    shutil.copytree(model[0], folder)
    path = folder / "tensor-cache.json"
    text = path.read_text()
    names = [r["name"] for shard in json.loads(text)["records"] for r in shard["records"]]
    stored = [n for n in names if n.startswith(DOWN) and not n.endswith(NOT_READ)]
    assert stored
    for name in stored:
        for fault in ("missing", "shape", "dtype"):
            path.write_text(with_fault(text, name, fault))
            with pytest.raises((CorruptFileError, InvalidRequestError), match=name):
                engine_of((folder, model[1]))
    path.write_text(text)
    engine_of((folder, model[1])).terminate()


def with_fault(text: str, name: str, fault: str) -> str:
    index: Any = json.loads(text)
    for shard in index["records"]:
        (record,) = [r for r in shard["records"] if r["name"] == name] or [None]
        if record is not None and fault == "missing":
            shard["records"].remove(record)
        elif record is not None:
            record[fault] = [1, *record["shape"]] if fault == "shape" else "int32"
    return json.dumps(index)


def test_a_tensor_that_does_not_fit_is_named(tiny_model: ResolvedModel, tmp_path: Path) -> None:
    assert tiny_model.model_lib is not None
    check_faults((tiny_model.folder, tiny_model.model_lib), tmp_path)


@pytest.mark.parametrize("scheme", [scheme.name for scheme in schemes.OF_FLOATS])
def test_answers_are_those_of_the_stored_tensors(
    scheme: str, tmp_path: Path, library_of: LibraryOf, request: pytest.FixtureRequest
) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("compiles a library for each scheme; run with --long")
    source = tiny_models.write_hf_folder(tmp_path / "hf", tiny_models.random_weights())
    folder = tmp_path / "mlc"
    convert_model(open_source(source), folder, quantization=scheme)
    config = json.loads((folder / "mlc-chat-config.json").read_text())
    expected = greedy(tiny_models.CONFIG, by_names_of_files(meaning(folder, config)))
    model = folder, library_of(folder, device="cpu", **EXACTLY)
    with engine_of(model) as engine:
        np.testing.assert_allclose(ask(engine), [expected], atol=1e-3)
    check_faults(model, tmp_path)
