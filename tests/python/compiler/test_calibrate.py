"""The importance of inputs: what layers get on a text, by a forward pass in NumPy, and what the
search of scales makes of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")
sys.path.append(str(Path(__file__).parents[1] / "convert"))

import tiny_experts  # noqa: E402
import tiny_families  # noqa: E402
import tiny_llama  # noqa: E402
import tiny_models  # noqa: E402

from mlc_llm.cli import convert_weight, main  # noqa: E402
from mlc_llm.compiler import calibrate, models  # noqa: E402
from mlc_llm.compiler.calibrate import importance_of  # noqa: E402
from mlc_llm.compiler.convert import open_source  # noqa: E402
from mlc_llm.compiler.quantization.pack import dequantize_rows  # noqa: E402
from mlc_llm.compiler.quantization.search import search_rows  # noqa: E402
from mlc_llm.errors import InvalidRequestError  # noqa: E402

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    weights = {name: value * 0.2 for name, value in tiny_models.random_weights().items()}
    return tiny_models.write_hf_folder(tmp_path_factory.mktemp("hf"), weights)


@pytest.fixture(scope="module")
def compiled(folder: Path) -> Any:
    """The model in floats, for the tests that read a text with it."""
    return calibrate.float_module(open_source(folder), None)


def test_inputs_are_those_of_a_forward_pass(
    folder: Path, compiled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrate, "float_module", lambda *_: compiled)
    source = open_source(folder)
    ids = [int(i) for i in np.random.default_rng(0).integers(0, 300, 150)]  # more than one step
    config = models.config_from_hf(json.loads((folder / "config.json").read_text()))
    exact = {
        weight.name: np.concatenate([source.read(part.tensor) for part in weight.parts])
        for weight in models.weight_map(config)
    }
    seen: dict[str, Array] = {}
    plain = tiny_llama._linear

    def linear(w: dict[str, Array], name: str, x: Array) -> Array:
        seen[f"{name}.weight"] = (x * x).mean(0)
        return plain(w, name, x)

    monkeypatch.setattr(tiny_llama, "_linear", linear)
    tiny_llama._forward(config, exact, ids)
    found = importance_of(source, ids)
    assert found.keys() == {*seen, "lm_head.weight"}
    for name, value in seen.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, err_msg=name)
    with pytest.raises(InvalidRequestError, match="is empty"):
        importance_of(source, ids[:1])


@pytest.mark.parametrize(
    ("tiny", "family", "unused"),
    [(tiny_experts, "mixtral", {"model.embed_tokens.weight"}), (tiny_families, "lfm2", set())],
)
def test_experts_and_recurrent_layers_are_seen(
    tiny: Any, family: str, unused: set[str], request: pytest.FixtureRequest
) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("compiles two more models; runs with --long")
    config = tiny.config(family)
    source: Any = tiny_families.Source(tiny.weights(config))
    source.hf_config = lambda: config
    ids = [int(i) for i in np.random.default_rng(1).integers(0, 128, 140)]
    found = importance_of(source, ids, model_type=family)
    typed = models.config_from_hf(config, family)
    every = models.get(family).weight_map(typed, "huggingface")
    weights = {weight.name: weight for weight in every if weight.quantizable}
    assert weights.keys() - found.keys() == unused
    for name in weights.keys() - unused:
        assert found[name].shape == weights[name].shape[-1:] and found[name].max() > 0


def weighted_errors(weight: Array, counts: Array, **options: Any) -> Array:
    """Of each group of 32."""
    words, scales = search_rows(weight, bits=4, group_size=32, dtype="float16", **options)
    back = dequantize_rows(
        words, scales.astype(np.float32), bits=4, group_size=32, columns=weight.shape[1]
    )
    exact = weight.astype(np.float16).astype(np.float32)
    return ((back - exact) ** 2 * counts).reshape(len(weight), -1, 32).sum(-1)


def test_what_matters_loses_less() -> None:
    rng = np.random.RandomState(0)
    weight = rng.standard_normal((64, 256)).astype(np.float32)
    importance = np.exp(2 * rng.standard_normal(256)).astype(np.float32)
    plain = weighted_errors(weight, importance)
    ours = weighted_errors(weight, importance, importance=importance)
    assert ours.sum() < 0.85 * plain.sum()
    even = weighted_errors(weight, importance, importance=np.ones(256, np.float32))
    np.testing.assert_allclose(even, plain, rtol=1e-4)


def test_inputs_that_never_come_count_a_little() -> None:
    weight = np.random.RandomState(1).standard_normal((4, 40)).astype(np.float32)
    importance = np.zeros(40, np.float32)
    importance[3] = 1
    for given, worst in ((importance, 0.02), (0 * importance, 0.2)):
        words, scales = search_rows(
            weight, bits=4, group_size=32, dtype="float32", importance=given
        )
        back = dequantize_rows(words, scales, bits=4, group_size=32, columns=40)
        assert np.abs(back[:, 3] - weight[:, 3]).max() < worst
        assert np.abs(back - weight).max() < 0.4


def convert(folder: Path | str, output: Path, *options: str) -> int:
    return main(["convert_weight", str(folder), "--quiet", "-o", str(output), *options])


def test_the_command_reads_the_text(
    folder: Path, compiled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrate, "float_module", lambda *_: compiled)
    text = tmp_path / "text.txt"
    text.write_text("the thin thing that thinks " * 3)
    scheme = ("--quantization", "q4f16_1")
    assert not convert(folder, tmp_path / "searched", *scheme, "--search-scales")
    assert not convert(folder, tmp_path / "read", *scheme, "--calibrate", str(text))
    searched, read = (tiny_models.read_mlc_folder(tmp_path / n) for n in ("searched", "read"))
    assert {n: a.shape for n, a in searched.items()} == {n: a.shape for n, a in read.items()}
    name = "model.layers.0.mlp.down_proj.q_weight"
    assert not np.array_equal(searched[name], read[name])
    name = "model.embed_tokens.q_weight"  # no layer multiplies by it
    assert np.array_equal(searched[name], read[name])


@pytest.mark.parametrize(
    ("text", "scheme", "words"),
    [
        (None, "q4f16_1", "No such file"),
        (b"\xff\xfe\xfd", "q4f16_1", "decode"),
        (b"", "q4f16_1", "is empty"),
        (b"text", "q8f32_1", "has no scales to search"),
    ],
)
def test_what_cannot_be_read_is_an_error(
    text: bytes | None, scheme: str, words: str, folder: Path, tmp_path: Path, capsys: Any
) -> None:
    file = tmp_path / "text.txt"
    if text is not None:
        file.write_bytes(text)
    options = ("--quantization", scheme, "--calibrate", str(file))
    assert convert(folder, tmp_path / "out", *options)
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_gguf_file_needs_the_name_of_a_scheme(tmp_path: Path, capsys: Any) -> None:
    path = tiny_models.write_gguf(tmp_path / "m.gguf", tiny_models.random_weights())
    assert convert(path, tmp_path / "out", "--calibrate", str(path))
    assert "needs a --quantization of 3 or 4 bits" in capsys.readouterr().err
    assert convert("default", tmp_path / "out", "--calibrate", str(path))
    assert "needs a --quantization of 3 or 4 bits" in capsys.readouterr().err


def test_only_the_beginning_of_a_large_file_is_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\u00e4 " * calibrate.CHARACTERS)
    read: list[str] = []
    monkeypatch.setattr(convert_weight, "_tokens", lambda *given: read.append(given[-1]) or [])
    options = ("--quantization", "q4f16_1", "--calibrate", str(text))
    assert convert(folder, tmp_path / "out", *options)
    assert "is empty" in capsys.readouterr().err
    assert [len(one) for one in read] == [calibrate.CHARACTERS]
