"""An engine over `-MLC` folders as MLC-LLM's converter makes them: answers are those over the
folder that our converter makes of the same Hugging Face folder, bit for bit.

`compiler/test_mlc_folders.py` compares the tensors of every family.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from engine_ways import Model, ask, engine_of
from fixture_models import FixtureModel
from mlc_folder import mlc_config, mlc_tensors, presharded
from test_experts_engine import compiled
from test_sharded_engine import SIZES, library

from mlc_llm.compiler.convert.mlc_writer import WeightWriter
from mlc_llm.compiler.quantization import StoredParam
from mlc_llm.errors import InvalidRequestError

MODELS: dict[str, dict[str, Any]] = {
    "qwen3_5": {"num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"]},
    "cohere": {"num_hidden_layers": 2, "logit_scale": 0.0625},
    "gemma3_text": {},
    "nemotron": {"num_hidden_layers": 2},
    "llama4_text": {},
    "gptj": {"n_positions": 512},
    "gpt2": {"n_positions": 512},
    "phi3": {},
    "internlm2": {},
    "deepseek_v2": {},
    "rwkv6": {"num_hidden_layers": 2, "lora_rank_tokenshift": 32, "lora_rank_decay": 64},
}
ALWAYS = ("qwen3_5",)  # joined, reordered, transposed and changed tensors


def theirs(tiny: FixtureModel, folder: Path, shards: int = 1) -> Path:
    """The folder as MLC-LLM would make it. `shards`: among which it divides the weights."""
    writer = WeightWriter(folder)
    tensors = mlc_tensors(tiny.config, tiny.weights)
    for name, value in presharded(tiny.config, tensors, shards).items():
        writer.add(StoredParam(name, value.shape, "float32"), [value])
    writer.finish(original_elements=1)
    (folder / "tokenizer.json").write_bytes(tiny_models.tokenizer_json())
    extras = {"chat_template": tiny_models.TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(extras))
    chat = mlc_config(tiny.config, "q0f32")
    chat |= {"tokenizer_files": ["tokenizer.json", "tokenizer_config.json"]}
    chat |= {"eos_token_id": 2, "bos_token_id": 1, "pad_token_id": 0}
    (folder / "mlc-chat-config.json").write_text(json.dumps(chat))
    return folder


def of_folder(folder: Path) -> Model:
    return folder, compiled(folder, "cpu")


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_over_our_folder(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if name not in ALWAYS and not request.config.getoption("--long"):
        pytest.skip("compiles two libraries for each family; run with --long")
    ours, other = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    other.mkdir()
    tiny = FixtureModel(name, **MODELS[name])
    found = []
    for model in (of_folder(tiny.written(ours)), of_folder(theirs(tiny, other))):
        with engine_of(model) as engine:
            found.append(ask(engine))
    assert found[0] == found[1]
    assert len(set(np.ravel(found[0]))) > 3


def test_weights_that_mlc_llm_divided_are_read_by_as_many_shards(tmp_path: Path) -> None:
    """The same library gives the same answer, bit for bit, over the folder that is whole."""
    tiny, folders = FixtureModel("mistral", **SIZES), {}
    for count in (1, 2, 4):
        folders[count] = tmp_path / str(count)
        folders[count].mkdir()
        theirs(tiny, folders[count], count)
    made = library(folders[1], 2)
    found = []
    for count in (1, 2):
        with engine_of((folders[count], made)) as engine:
            found.append(ask(engine))
    assert found[0] == found[1]
    with pytest.raises(InvalidRequestError, match="among 4 shards; use --tensor-parallel") as four:
        engine_of((folders[4], made))
    assert four.value.param == "tensor_parallel_shards"
    with pytest.raises(InvalidRequestError, match="among 2 shards; use --tensor-parallel"):
        engine_of((folders[2], library(folders[1], 1)))
