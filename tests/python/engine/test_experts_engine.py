"""An engine over layers with experts: a tiny GLM-4.5 from its folder, judged by NumPy.

Answers are the same in chunks, from found prefixes, in a tight pool and with drafts that are taken
back; and on GPUs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import test_nvfp4
import tiny_models
from engine_ways import (
    MAX_TOKENS,
    PROMPT,
    TREES,
    WAYS,
    Model,
    ask,
    check_a_chat,
    check_a_way,
    check_preemption,
    prompt_ids,
)
from gpu_engines import COMMON, leave_samplers_out, require

from mlc_llm import MLCEngine
from mlc_llm.compiler.compile import compile_model, read_chat_config
from mlc_llm.compiler.convert import convert_model, open_source

sys.path.insert(0, str(Path(__file__).parents[1] / "compiler" / "support"))

import reference_experts  # noqa: E402
import tiny_experts  # noqa: E402

FAMILY = "glm4_moe"
ENGINES = {**WAYS, "trees": TREES}


def config() -> dict[str, Any]:
    small = {"num_hidden_layers": 2, "vocab_size": len(tiny_models.tokens())}
    return {**tiny_experts.config(FAMILY), **small, "architectures": ["Glm4MoeForCausalLM"]}


def write_source(source: Path, config: dict[str, Any], tensors: dict[str, Any]) -> Path:
    """A Hugging Face folder."""
    ids = {"eos_token_id": 2, "bos_token_id": 1, "pad_token_id": 0}
    (source / "config.json").write_text(json.dumps({**config, **ids}))
    safetensors.numpy.save_file(tensors, source / "model.safetensors")
    (source / "tokenizer.json").write_bytes(tiny_models.tokenizer_json())
    extras = {"chat_template": tiny_models.TEMPLATE}
    (source / "tokenizer_config.json").write_text(json.dumps(extras))
    return source


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model in q0f32, from safetensors."""
    source = tmp_path_factory.mktemp("experts")
    write_source(source, config(), tiny_experts.weights(config()))
    target = source / "mlc"
    convert_model(open_source(source), target, quantization="q0f32")
    return target


def compiled(folder: Path, device: str, **options: Any) -> Path:
    library = folder / f"{device}.so"
    compile_model(read_chat_config(folder), output=library, device=device, **options)
    return library


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return folder, compiled(folder, "cpu")


@pytest.fixture(scope="module")
def greedy() -> list[float]:
    """The logprobs of NumPy's greedy answer."""
    ids, found = prompt_ids(PROMPT), []
    weights = tiny_experts.weights(config())
    for _ in range(MAX_TOKENS):
        last = reference_experts.logits(config(), weights, ids)[-1]
        ids.append(int(last.argmax()))
        found.append(float(last.max() - np.log(np.exp(last - last.max()).sum()) - last.max()))
    return found


def test_a_chat_is_what_numpy_says(model: Model, greedy: list[float]) -> None:
    check_a_chat(model, greedy, atol=1e-3)


@pytest.mark.parametrize("name", ENGINES)
def test_every_way_through_the_engine_gives_the_same(name: str, model: Model) -> None:
    check_a_way(model, ENGINES[name])


def test_preempted_chats_go_on(model: Model) -> None:
    check_preemption(model)


@pytest.mark.parametrize("device", COMMON)
def test_a_gpu_gives_the_cpus_greedy_answers(
    device: str,
    folder: Path,
    greedy: list[float],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("libraries for GPUs are compiled with --long")
    require(device)
    leave_samplers_out(monkeypatch)
    library = compiled(folder, device)
    with MLCEngine(str(folder), model_lib=str(library), device=device) as engine:
        np.testing.assert_allclose(ask(engine), [greedy], atol=1e-3)
        np.testing.assert_allclose(ask(engine, n=2), [greedy] * 2, atol=1e-3)
    with MLCEngine(
        str(folder),
        model_lib=str(library),
        device=device,
        engine_config={"prefill_chunk_size": 16},
    ) as engine:
        np.testing.assert_allclose(ask(engine), [greedy], atol=1e-3)


# Blocks of 8-bit floats stand beside bfloat16, which Vulkan does not have.
@pytest.mark.parametrize(
    ("kind", "devices"),
    [("fp8_e4m3fn_bf16_block_scale", ["opencl"]), ("nvfp4", ["opencl", "vulkan"])],
)
def test_experts_of_8_and_4_bit_floats_on_gpus_answer_as_on_the_cpu(
    kind: str,
    devices: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("libraries for GPUs are compiled with --long")
    leave_samplers_out(monkeypatch)
    wide = {**config(), "hidden_size": 128, "moe_intermediate_size": 128, "n_routed_experts": 4,
            "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1}  # fmt: skip
    weights = tiny_experts.weights(wide)
    if kind == "nvfp4":
        wide, weights = as_nvfp4(wide, weights)
    made = tmp_path / "mlc"
    source = open_source(write_source(tmp_path, wide, weights))
    convert_model(source, made, quantization="auto" if kind == "nvfp4" else kind)
    library = compiled(made, "cpu", opt="activation_bits=32")
    with MLCEngine(str(made), model_lib=str(library), device="cpu") as engine:
        expected = ask(engine)
    for device in devices:
        require(device)
        library = compiled(made, device)
        with MLCEngine(str(made), model_lib=str(library), device=device) as engine:
            np.testing.assert_allclose(ask(engine), expected, atol=1e-3)


def as_nvfp4(config: dict[str, Any], weights: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """The same layers in a repository of compressed-tensors, with random codes."""
    tensors = {}
    for name, value in weights.items():
        if "_proj.weight" not in name:
            tensors[name] = value
            continue
        made, floats = test_nvfp4.module(name, value.shape, "compressed-tensors")
        factor = np.float32(np.abs(floats).mean() / np.abs(value).mean())  # as large as the others
        made["weight_global_scale"] = made["weight_global_scale"] * factor
        module = name.removesuffix(".weight")
        tensors |= {f"{module}.{suffix}": array for suffix, array in made.items()}
    return {**config, "quantization_config": test_nvfp4.COMPRESSED}, tensors
