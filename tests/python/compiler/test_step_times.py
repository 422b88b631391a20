"""`mlc_llm bench kernels`: which kernels a step calls, what they must read and multiply, and the
report."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mlc_llm import _core
from mlc_llm.bench import kernel_report
from mlc_llm.cli import main
from mlc_llm.compiler import machine_limits
from mlc_llm.compiler.compile import library_spec, read_chat_config
from mlc_llm.compiler.step_shape import Step
from mlc_llm.compiler.step_times import StepProgram, weight_shapes
from mlc_llm.errors import InvalidRequestError, UnsupportedError
from mlc_llm.prepare.model_source import ResolvedModel


def test_a_step_reads_its_weights_and_makes_its_products(tiny_model: ResolvedModel) -> None:
    spec = library_spec(read_chat_config(Path(tiny_model.folder)), device="cpu")
    c = spec.config
    program = StepProgram(Path(tiny_model.model_lib), *weight_shapes(spec))
    history = 40
    found = {one.kernel: one for one in program.times(Step(2, 1, history), seconds=0.01)}
    assert all(one.seconds >= 0 and one.calls > 0 for one in found.values())
    (attention,) = [one for name, one in found.items() if "attention" in name]
    heads = c.num_attention_heads * c.head_dim
    assert attention.calls == c.num_hidden_layers
    assert attention.operations == c.num_hidden_layers * 4 * 2 * (history + 1) * heads
    products = sum(one.operations for one in found.values()) - attention.operations
    shapes, _ = weight_shapes(spec)
    head = c.vocab_size * c.hidden_size
    layers = sum(a * b for name, (a, b) in shapes.items() if "layers" in name)
    assert products == 2 * 2 * (layers + head)
    assert f"linear_integer {c.vocab_size}x{c.hidden_size}" in found
    two = sum(one.bytes for one in found.values())
    four = sum(one.bytes for one in program.times(Step(4, 1, history), seconds=0.01))
    index = json.loads((Path(tiny_model.folder) / "tensor-cache.json").read_text())
    records = [record for shard in index["records"] for record in shard["records"]]
    read = [(r["name"], r["nbytes"]) for r in records if "embed_tokens" not in r["name"]]
    weights = sum(size // 2 if name.endswith("q_scale") else size for name, size in read)  # float16
    assert abs(2 * two - four - weights) < 0.01 * weights  # the rest is of each sequence
    prompt = program.times(Step(1, 64, 0), seconds=0.01)
    assert {one.kernel for one in prompt} == set(found)


def test_what_has_no_step_is_refused(
    tiny_model: ResolvedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StepProgram, "_has_program", lambda self: False)
    with pytest.raises(UnsupportedError, match="models with a step") as refused:
        StepProgram(Path(tiny_model.model_lib))
    assert refused.value.param == "device"


@pytest.mark.parametrize("content", [None, b"x"])
def test_what_is_no_library_is_named(content: bytes | None, tmp_path: Path) -> None:
    library = tmp_path / "model.so"
    if content is not None:
        library.write_bytes(content)
    with pytest.raises(InvalidRequestError, match="model.so is no model library") as refused:
        StepProgram(library)
    assert refused.value.param == "model_lib"


def test_a_library_of_something_else_is_named() -> None:
    core = Path(_core.__file__).parent / "libmlc_llm.so"
    with pytest.raises(InvalidRequestError, match="is no model library"):
        StepProgram(core)


PAGE = (Path(__file__).parents[3] / "docs/compiler-passes.md").read_text(encoding="utf-8")


def test_the_command_prints_and_draws(
    tiny_model: ResolvedModel,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("_BLOCK_BYTES", 1 << 20), ("_ROUNDS", 16)):
        monkeypatch.setattr(machine_limits, name, value)
    figures, plot = tmp_path / "kernels.json", tmp_path / "roofline.svg"
    options = ["--seconds", "0.01", "--json", str(figures), "--plot", str(plot), "--quiet"]
    assert "\nmlc_llm bench kernels MODEL --plot roofline.svg\n" in PAGE
    command = ["bench", "kernels", str(tiny_model.folder), "--model-lib"]
    command += [str(tiny_model.model_lib), "--cases", "decode 1,prompt 128"]
    assert main([*command, *options]) == 0
    printed, report = capsys.readouterr().out, json.loads(figures.read_text())
    assert "decode 1: " in printed and "prompt 128: " in printed and "% of memory" in printed
    for kernel in report["cases"]["decode 1"]:
        assert f"\n{kernel['kernel']} " in printed
    assert all(value > 0 for value in report["limits"].values())
    drawn = ElementTree.fromstring(plot.read_text())
    titles = [node.text for node in drawn.iter() if node.tag.endswith("title")]
    assert any(title and title.startswith("paged_attention (decode 1") for title in titles)
    places = [float(node.attrib["cy"]) for node in drawn.iter() if node.tag.endswith("circle")]
    assert all(0 < place < 440 for place in places)
    assert main([*command[:-1], "decode 3"]) == 1
    assert "decode 4" in capsys.readouterr().err
    assert main([*command, "--seconds", "nan"]) == 1
    assert "--seconds must" in capsys.readouterr().err


def test_shares_are_of_the_limit_that_a_kernel_has() -> None:
    limits = {"bytes": 10e9, "integer": 400e9, "float": 100e9}
    kernel = {"seconds": 1.0, "bytes": 5e9, "operations": 50e9, "of_integers": False}
    assert kernel_report.shares(kernel, limits) == (0.5, 0.5)
    assert kernel_report.shares({**kernel, "of_integers": True}, limits) == (0.5, 0.125)
