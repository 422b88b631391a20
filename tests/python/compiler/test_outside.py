"""Families and schemes of other packages: a private one is found, converted, compiled and answers;
a broken one is named, and breaks nothing else."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import gguf
import numpy as np
import pytest
from family_fixtures import stored
from vm_runner import Runner, read_weights

from mlc_llm.compiler import models, outside, quantization, reference
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.compiler.convert.gguf import GGUFModel
from mlc_llm.compiler.family_check import Fixture, check_family, written
from mlc_llm.errors import UnsupportedError

# Arcee's block, as its authors would write it if it were not here: the page shows it.
DOCS = Path(__file__).parents[3] / "docs"


def printed(page: str, name: str) -> str:
    """The program of a page whose first line is its name."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.partition(f"```python\n# {name}\n")[2].partition("```")[0]


SOURCE = printed("new-model.md", "acme_models/family.py")
SCHEME = printed("extend.md", "acme_models/scheme.py")
PASSES = printed("compiler-passes.md", "my_passes.py")


def install(
    site: Path,
    package: str,
    entry_points: dict[str, str],
    source: str = SOURCE,
    version: str = "1",
    group: str = outside.FAMILIES,
) -> None:
    """A package with one module, as pip would install it."""
    (site / package).mkdir(parents=True, exist_ok=True)
    (site / package / "__init__.py").write_text("")
    (site / package / "family.py").write_text(source)
    info = site / f"{package}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    lines = [f"{name} = {value}" for name, value in entry_points.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    for name in [name for name in sys.modules if name.startswith("acme_")]:
        monkeypatch.delitem(sys.modules, name)
    return folder


def fixture_of_acme(file: Path, **changes: object) -> Path:
    found = stored("arcee")
    own = {"model_type": "acme", "architectures": ["AcmeForCausalLM"], **changes}
    file.write_text(json.dumps({**found, "config": {**found["config"], **own}}))
    return file


def test_a_private_family_is_found_converted_compiled_and_answers(site: Path, tmp_path: Path):
    """The logits and tokens are those of the programs that made Arcee's fixture."""
    install(site, "acme_models", {"acme": "acme_models.family:FAMILY"})
    check_family(fixture_of_acme(tmp_path / "acme.json"), tmp_path / "model")
    assert models.gguf_families()["acme"] == "acme"


def test_the_tutorial_s_four_programs_make_one_model(site: Path, tmp_path: Path, capsys) -> None:
    """A family, whose weights a scheme stores, compiled with a pass and a kernel of the reader's
    own. NumPy computes the same with the weights that the scheme means."""
    install(site, "acme_models", {"acme": "acme_models.family:FAMILY"})
    entry = {"acme_q8": "acme_schemes.family:SCHEME"}
    install(site, "acme_schemes", entry, SCHEME, group=outside.SCHEMES)
    (tmp_path / "my_passes.py").write_text(PASSES)
    acme = fixture_of_acme(tmp_path / "acme.json")
    fixture = Fixture.of(json.loads(acme.read_text(encoding="utf-8")))
    folder, library = written(fixture, tmp_path / "model", "acme_q8"), tmp_path / "model.so"
    passes, opt = tmp_path / "my_passes.py", "activation_bits=32"
    compile_model(read_chat_config(folder), output=library, opt=opt, passes=passes)
    assert " kernels\n" in capsys.readouterr().out
    weights = read_weights(folder)
    codes = [name for name in weights if name.endswith(".q_weight")]
    means = {name: value.astype(np.float32) for name, value in weights.items()}
    for name in codes:
        scale = weights[name.replace(".q_weight", ".q_scale")]
        means[name.replace(".q_weight", ".weight")] = (means[name] - 128) * scale
    expected = reference.logits(fixture.spec, means, fixture.ids)
    found = Runner.open(library, weights).forward([("a", fixture.ids)])
    largest = np.abs(expected).max()
    assert np.abs(found - expected).max() < 1e-4 * largest
    exact = np.abs(expected - fixture.logits).max()
    assert codes and 1e-4 * largest < exact < 0.1 * largest


def test_a_scheme_that_is_none_is_named(site: Path) -> None:
    broken = {"acme_q9": "acme_broken.family:SCHEME", "acme_q7": "acme_broken.family:ABSENT"}
    install(site, "acme_broken", broken, "SCHEME = 3", version="2.5", group=outside.SCHEMES)
    for name, why in {"acme_q9": "must be a Scheme", "acme_q7": "cannot be loaded"}.items():
        with pytest.raises(UnsupportedError, match=why) as caught:
            quantization.get(name)
        assert caught.value.param == "quantization" and "acme_broken 2.5" in str(caught.value)
    with pytest.raises(UnsupportedError, match="available: .*acme_q7, acme_q9"):
        quantization.get("acme_q1")
    assert outside.identity()[0].startswith("acme_q7=")


def test_the_check_sees_a_wrong_family(site: Path, tmp_path: Path):
    other = SOURCE.replace('activation="relu2"', 'activation="silu"')
    install(site, "acme_wrong", {"acme": "acme_wrong.family:FAMILY"}, other)
    with pytest.raises(AssertionError, match="NumPy's logits are .* apart"):
        check_family(fixture_of_acme(tmp_path / "acme.json"), tmp_path / "model")
    with pytest.raises(AssertionError, match=r"family alone: lm_head\.weight"):
        changed = fixture_of_acme(tmp_path / "tied.json", tie_word_embeddings=True)
        check_family(changed, tmp_path / "tied")


BROKEN = {
    "an import": ("import acme_missing", "family", "ModuleNotFoundError: No module named"),
    "an object": ("FAMILY = 3", "family", "is of the type int: it must be a ModelFamily"),
    "a module": ("", "elsewhere", "cannot be loaded (ModuleNotFoundError"),
    "an attribute": ("", "family", "cannot be loaded (AttributeError"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_family_is_named_and_the_others_work(case: str, site: Path, tmp_path: Path):
    source, module, why = BROKEN[case]
    install(site, "acme_models", {"acme": "acme_models.family:FAMILY"})
    broken = {"acme_broken": f"acme_broken.{module}:FAMILY"}
    install(site, "acme_broken", broken, source, version="2.5")
    with pytest.raises(UnsupportedError) as caught:
        models.get("acme_broken")
    assert caught.value.param == "model_type"
    assert 'family "acme_broken" of the package acme_broken 2.5' in str(caught.value)
    assert why in str(caught.value)
    assert models.get("acme").gguf and models.get("llama") is models.FAMILIES["llama"]
    assert models.gguf_families()["acme"] == "acme"
    with pytest.raises(UnsupportedError, match=r"did you mean 'acme'\?.*acme_broken 2\.5"):
        models.get("acmee")
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "nobodys")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(UnsupportedError, match="'nobodys' cannot be read.*acme_broken 2"):
        GGUFModel(tmp_path / "m.gguf").hf_config()


def test_two_packages_with_one_name_are_named(site: Path):
    for package in ("acme_first", "acme_second"):
        install(site, package, {"acme": f"{package}.family:FAMILY"})
    with pytest.raises(UnsupportedError, match=r"packages acme_\w+ 1 and acme_\w+ 1 both offer"):
        models.get("acme")


def test_a_name_that_is_here_stays_ours(site: Path):
    install(site, "acme_models", {"llama": "acme_models.family:FAMILY"})
    assert models.get("llama") is models.FAMILIES["llama"]
    assert models.gguf_families()["llama"] == "llama" and "acme" not in models.gguf_families()


def test_what_was_made_by_another_version_is_made_again(site: Path):
    assert outside.identity() == []
    install(site, "acme_models", {"acme": "acme_models.family:FAMILY"})
    first = outside.identity()
    assert first[0].startswith("acme=acme_models.family:FAMILY acme_models 1 ")
    (site / "acme_models" / "family.py").write_text(SOURCE + "# changed\n")
    assert outside.identity() != first and "acme_models" not in sys.modules
