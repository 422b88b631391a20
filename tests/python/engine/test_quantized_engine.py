"""An engine over models that are quantized already, Hugging Face folders and GGUF files: its greedy
answers are those of the float model of the dequantized weights, by NumPy.

The codes are written by hand in `convert/test_hf_quantized.py` and its neighbours, which say what
they mean one weight at a time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_awq
import test_float8_blocks
import test_hf_quantized
import test_nvfp4
import tiny_models
from engine_ways import MAX_TOKENS, PROMPT, ask, engine_of, prompt_ids
from fixture_models import FixtureModel
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quantize
from gguf_random import EVERY, HALVES, write_mixed
from gpu_engines import LibraryOf, compiled, opened
from test_gguf_schemes import in_halves

from mlc_llm.compiler.convert import convert_model, open_source
from mlc_llm.compiler.quantization.rounding import numpy_dtype
from mlc_llm.prepare.model_source import resolve_folder

sys.path.insert(0, str(Path(__file__).parents[1] / "compiler" / "support"))

import reference_decoder  # noqa: E402

Array = np.ndarray[Any, Any]
EXACTLY = {"opt": "activation_bits=32", "kv_cache_dtype": "f32"}  # nothing else is rounded
ALWAYS = ("gptq-4-acts", "nf4-nested")
# Whose codes are kept: what writes the repository, its kind, the scheme, and the type in which the
# scheme keeps tensors that are not quantized.
KEPT: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str, str]] = {
    "awq": (test_awq.write_repository, (), "q4f16_autoawq", "float16"),
    "fp8 blocks": (
        test_float8_blocks.write_repository,
        (test_float8_blocks.BLOCKS,),
        test_float8_blocks.NAME,
        "bfloat16",
    ),
    "fp8 tensors": (
        test_float8_blocks.write_repository,
        (test_float8_blocks.TENSORS,),
        test_float8_blocks.STATIC,
        "bfloat16",
    ),
    "nvfp4": (test_nvfp4.write_repository, (test_nvfp4.COMPRESSED,), "auto", "bfloat16"),
    "modelopt": (test_nvfp4.write_repository, (test_nvfp4.MODELOPT,), "auto", "bfloat16"),
}


def greedy(config: Mapping[str, Any], weights: Mapping[str, Array]) -> list[float]:
    """The logprobs of NumPy's greedy answer to the chat of `ask`. Ids that the tokenizer does not
    have are never chosen."""
    ids, found = prompt_ids(PROMPT), []
    for _ in range(MAX_TOKENS):
        last = reference_decoder.logits(config, weights, ids)[-1][: len(tiny_models.tokens())]
        ids.append(int(last.argmax()))
        found.append(float(-np.log(np.exp(last - last.max()).sum())))
    return found


def answer(folder: Path, quantization: str, library_of: LibraryOf, **options: str) -> list[Any]:
    """The greedy answer of an engine over the repository, converted."""
    made = folder.with_name("mlc")
    convert_model(open_source(folder), made, quantization=quantization)
    with engine_of((made, library_of(made, device="cpu", **options))) as engine:
        return ask(engine)


@pytest.mark.parametrize("kind", test_hf_quantized.REPOSITORIES)
def test_answers_are_those_of_the_float_model(
    kind: str, tmp_path: Path, library_of: LibraryOf, request: pytest.FixtureRequest
) -> None:
    """All kinds have one config, so one library serves them."""
    if kind not in ALWAYS and not request.config.getoption("--long"):
        pytest.skip("an engine for each kind of repository; run with --long")
    weights = test_hf_quantized.write_repository(tmp_path / "hf", kind)
    expected = greedy(tiny_models.CONFIG, weights)
    found = answer(tmp_path / "hf", "q0f32", library_of)
    np.testing.assert_allclose(found, [expected], atol=1e-3)


@pytest.mark.parametrize("kind", KEPT)
def test_kept_codes_answer_as_their_float_model(
    kind: str, tmp_path: Path, library_of: LibraryOf, request: pytest.FixtureRequest
) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("compiles a library for each kind; run with --long")
    write, arguments, scheme, plain = KEPT[kind]
    meaning = write(tmp_path / "hf", *arguments)
    source = open_source(tmp_path / "hf")

    def exact(name: str) -> Array:
        module = name.removesuffix(".weight")
        value = meaning[module] if module in meaning else source.read(name)  # of AWQ by module
        value = value if "_proj" in name else value.astype(numpy_dtype(plain))
        return value.astype(np.float32)

    config = json.loads((tmp_path / "hf" / "config.json").read_text())
    expected = greedy(config, {name: exact(name) for name in tiny_models.names()})
    found = answer(tmp_path / "hf", scheme, library_of, **EXACTLY)
    np.testing.assert_allclose(found, [expected], atol=1e-3)


def mxfp4(value: Array) -> tuple[Array, Array, Array]:
    """Experts [experts, in, out] as gpt-oss's repositories store them, by the `gguf` package: their
    blocks, scales and floats. llama.cpp's blocks hold inputs 0 to 15 in the low halves."""
    turned = np.ascontiguousarray(value.swapaxes(1, 2))
    raw = quantize(turned, GGMLQuantizationType.MXFP4)
    floats = dequantize(raw, GGMLQuantizationType.MXFP4).reshape(turned.shape).swapaxes(1, 2)
    groups = raw.reshape(*turned.shape[:2], -1, 17)
    codes = np.concatenate([groups[..., 1:] & 15, groups[..., 1:] >> 4], axis=-1)
    found = codes[..., 0::2] | codes[..., 1::2] << 4, groups[..., 0], floats
    blocks, scales, floats = map(np.ascontiguousarray, found)
    return blocks, scales, floats


@pytest.mark.parametrize("quantization", ["q0f32", "auto"])
def test_experts_of_mxfp4_answer_as_their_float_model(
    quantization: str, tmp_path: Path, library_of: LibraryOf, request: pytest.FixtureRequest
) -> None:
    """gpt-oss's own repositories: read as floats, and kept."""
    if not request.config.getoption("--long"):
        pytest.skip("compiles a library; run with --long")
    kinds = ["sliding_attention", "full_attention"]
    method = {"quant_method": "mxfp4"}
    tiny = FixtureModel(
        "gpt_oss", num_hidden_layers=2, layer_types=kinds, quantization_config=method
    )
    stored, floats = dict(tiny.weights), dict(tiny.weights)
    for name in [n for n in stored if n.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        made = mxfp4(stored.pop(name))
        stored[f"{name}_blocks"], stored[f"{name}_scales"], floats[name] = made
    tiny.weights = stored
    folder = tiny.written(tmp_path, quantization)
    tiny.weights = floats
    library = library_of(folder, device="cpu", **EXACTLY)
    with engine_of((folder, library)) as engine:
        found = ask(engine)
    np.testing.assert_allclose(found, [tiny.greedy(prompt_ids(PROMPT), MAX_TOKENS)], atol=1e-3)


@pytest.mark.parametrize("kind", ["every type", "F16", "BF16", *HALVES])
def test_a_gguf_file_answers_as_its_float_model(
    kind: str, tmp_path: Path, library_of: LibraryOf, request: pytest.FixtureRequest
) -> None:
    """At its own precision. The blocks mean what the `gguf` package says."""
    if kind != "every type" and not request.config.getoption("--long"):
        pytest.skip("compiles a library for each type; run with --long")
    path = tmp_path / "m.gguf"
    kinds, usual = (EVERY, "Q4_0") if kind == "every type" else ({}, kind)
    theirs = write_mixed(path, kinds, default=usual)
    weights = {name: theirs[gguf] for name, (gguf, _) in tiny_models.names().items()}
    for name, heads in (("q_proj", 4), ("k_proj", 2)):
        weights |= {n: in_halves(w, heads) for n, w in weights.items() if name in n}
    if kind == "BF16":  # the type of all tensors in q0bf16
        weights = {n: w.astype(numpy_dtype("bfloat16")) for n, w in weights.items()}
    sizes = {"hidden_size": 256, "intermediate_size": 512, "head_dim": 64}
    expected = greedy(tiny_models.CONFIG | sizes, weights)
    folder = resolve_folder(path, device="cpu", progress=lambda _: None)
    with opened(compiled(folder, library_of, device="cpu"), "cpu") as engine:
        np.testing.assert_allclose(ask(engine), [expected], atol=1e-3)
