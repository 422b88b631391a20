"""Passes and kernels of others: docs/compiler-passes.md works as it is printed, and mistakes are
named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from test_outside import install, site  # noqa: F401  (a fixture)
from tiny_llama import chat_config, random_weights
from vm_runner import Runner

from mlc_llm.compiler import changes, outside, quantization, targets
from mlc_llm.compiler.compile import compile_model, library_spec
from mlc_llm.compiler.pass_record import PassRecord
from mlc_llm.compiler.pipeline import Pipeline
from mlc_llm.errors import MLCError

PAGE = (Path(__file__).parents[3] / "docs/compiler-passes.md").read_text(encoding="utf-8")
SOURCE = "# my_passes.py\n" + PAGE.partition("# my_passes.py\n")[2].partition("```")[0]
CONFIG = {**chat_config("q4f32_1"), "num_hidden_layers": 1}
OPT = "activation_bits=32"  # as on the page
TOKENS = [("a", [1, 2, 3])]


@pytest.fixture(scope="module")
def weights() -> dict[str, np.ndarray]:
    return random_weights(library_spec(CONFIG).config, quantization.get("q4f32_1"))[0]


@pytest.fixture(scope="module")
def expected(tmp_path_factory, weights) -> np.ndarray:
    library = tmp_path_factory.mktemp("usual") / "m.so"
    compile_model(CONFIG, output=library, opt=OPT)
    return Runner.open(library, weights).forward(TOKENS)


def logits_with(folder: Path, source: str, weights: dict[str, np.ndarray], **options) -> np.ndarray:
    (folder / "my_passes.py").write_text(source)
    library, file = folder / "m.so", folder / "my_passes.py"
    compile_model(CONFIG, output=library, opt=OPT, passes=file, **options)
    return Runner.open(folder / "m.so", weights).forward(TOKENS)


def test_the_page_works_as_printed(tmp_path, weights, expected, capsys):
    dump = tmp_path / "dump"
    logits = logits_with(tmp_path, SOURCE, weights, dump=dump)
    np.testing.assert_allclose(logits, expected, atol=1e-4 * np.abs(expected).max())
    assert " kernels\n" in capsys.readouterr().out
    passes = json.loads((dump / "passes.json").read_text())
    names = [one["pass"] for one in passes]
    assert names[:4] == ["Replace_rms_norm", "LegalizeOps", "CountKernels", "DeadCodeElimination"]
    assert all(one["seconds"] >= 0 for one in passes)
    written = {path.name for path in dump.iterdir()}
    assert {"00-model.py", "01-model-Replace_rms_norm.py", "kernels.s", "kernels.ll"} <= written
    assert len(written) == len(passes) + 4
    before, after = (dump / "00-model.py"), (dump / "01-model-Replace_rms_norm.py")
    assert before.read_text() != after.read_text()


def test_the_core_runs_the_new_kernel(tmp_path, weights, expected):
    doubled = SOURCE.replace("/ root *", "/ root * T.float32(2) *")
    logits = logits_with(tmp_path, doubled, weights)
    assert np.abs(logits - expected).max() > 0.1 * np.abs(expected).max()


def test_a_pass_that_fails_is_named(tmp_path, weights):
    with pytest.raises(MLCError, match="other passes failed: .*'roots'"):
        logits_with(tmp_path, SOURCE.replace("/ root *", "/ roots *"), weights)


MISTAKES = {
    "a syntax error": ("def change(", "SyntaxError"),
    "no function": ("x = 1", r"no function change\(pipeline\)"),
    "an exception": ("def change(p): p.nothing()", "AttributeError"),
    "a phase": ("def change(p): p.remove('grap', 'x')", "no phase 'grap'; did you mean 'graph'"),
    "a pass": (
        "def change(p): p.remove('graph', 'LegalizeOp')",
        "phase 'graph' 'LegalizeOp'; did you mean 'LegalizeOps'",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_in_the_file_is_named(tmp_path, case):
    source, words = MISTAKES[case]
    (tmp_path / "p.py").write_text(source)
    with pytest.raises(MLCError, match=words) as caught:
        changes.apply(Pipeline(targets.host()), tmp_path / "p.py")
    assert caught.value.param == "passes"


@pytest.mark.parametrize(("name", "words"), [("no.py", "does not exist"), ("no.txt", "Python")])
def test_a_file_that_is_none_is_named(tmp_path, name, words):
    with pytest.raises(MLCError, match=words):
        changes.apply(Pipeline(targets.host()), tmp_path / name)


def test_a_kernel_that_does_not_fit_is_named():
    import tvm

    from mlc_llm.compiler.kernels.cpu.elementwise import rms_norm
    from mlc_llm.compiler.kernels.cpu.rows import take_rows

    module = tvm.IRModule({"take": take_rows(16, 0, 32)})
    for name, words in {
        "tak": "did you mean 'take'",
        "take": r"takes .*; the old one float32\[2\]",
    }.items():
        pipeline = Pipeline(targets.host())
        pipeline.replace_kernel(name, lambda _: rms_norm(16, 1e-5, "float32"))
        with pytest.raises(MLCError, match=words):
            pipeline.run("model", module, PassRecord())


def test_a_package_changes_each_compilation(site, capsys):  # noqa: F811
    source = "def change(pipeline): pipeline.remove('graph', 'LegalizeOps')\n"
    assert outside.identity() == []
    entry = {"first": "acme_passes.family:change"}
    install(site, "acme_passes", entry, source, group=outside.PASSES)
    pipeline = Pipeline(targets.host())
    assert changes.apply(pipeline, None)
    assert "LegalizeOps" not in pipeline.phases["graph"]
    assert outside.identity()[0].startswith("first=acme_passes.family:change acme_passes 1 ")
    install(site, "acme_wrong", {"x": "acme_wrong.family:absent"}, source, group=outside.PASSES)
    with pytest.raises(MLCError, match="acme_wrong 1 .*cannot be loaded .AttributeError"):
        changes.apply(Pipeline(targets.host()), None)


def test_a_dump_replaces_that_of_another_model(tmp_path):
    import tvm

    from mlc_llm.compiler.kernels.cpu.rows import take_rows

    texts = []
    for width in (16, 32):
        PassRecord(tmp_path).run("model", [], tvm.IRModule({"take": take_rows(width, 0, 32)}))
        texts.append((tmp_path / "00-model.py").read_text())
    assert texts[0] != texts[1]
