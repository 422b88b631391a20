"""nomic-bert: what the configs of its repositories say, and the whole product.

`test_encoder_fixtures.py` compares its vectors with those of programs that are not ours.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures"
sys.path.insert(0, str(FIXTURES / "families"))

from random_weights import draw, unfolded  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402
from tokenizers.models import WordLevel  # noqa: E402

from mlc_llm import MLCEngine  # noqa: E402
from mlc_llm.compiler import models  # noqa: E402
from mlc_llm.errors import InvalidRequestError, UnsupportedError  # noqa: E402
from mlc_llm.prepare.model_source import resolve_model  # noqa: E402

FIXTURE = json.loads((FIXTURES / "encoders" / "nomic_bert.json").read_text(encoding="utf-8"))
# The fields of nomic-embed-text-v1's config.json, with the fixture's sizes.
PUBLISHED: dict[str, Any] = {
    "activation_function": "swiglu",
    "architectures": ["NomicBertModel"],
    "attn_pdrop": 0.0,
    "causal": False,
    "dense_seq_output": True,
    "embd_pdrop": 0.0,
    "fused_bias_fc": True,
    "layer_norm_epsilon": 1e-12,
    "max_trained_positions": 64,
    "mlp_fc1_bias": False,
    "mlp_fc2_bias": False,
    "model_type": "nomic_bert",
    "n_embd": 64,
    "n_head": 4,
    "n_inner": 96,
    "n_layer": 2,
    "n_positions": 8192,
    "pad_vocab_size_multiple": 64,
    "parallel_block": False,
    "parallel_block_tied_norm": False,
    "prenorm": False,
    "qkv_proj_bias": False,
    "reorder_and_upcast_attn": False,
    "resid_pdrop": 0.0,
    "rotary_emb_base": 100.0,
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
    "rotary_emb_scale_base": None,
    "rotary_scaling_factor": 2,
    "scale_attn_by_inverse_layer_idx": False,
    "scale_attn_weights": True,
    "summary_activation": None,
    "type_vocab_size": 1,
    "use_flash_attn": True,
    "use_rms_norm": False,
    "vocab_size": 122,
}


def test_the_repositories_configs_say_the_same_as_those_of_transformers() -> None:
    typed = models.config_from_hf(PUBLISHED)
    assert typed == models.config_from_hf({**FIXTURE["config"], "is_causal": False})
    assert models.config_from_hf({**typed.to_dict(), "model_type": "nomic_bert"}) == typed
    assert typed.context_window_size == 64, "longer texts have another rotation"


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"prenorm": True}, "prenorm"),
        ({"is_causal": True}, "is_causal"),
        ({"qkv_proj_bias": True}, "qkv_proj_bias"),
        ({"activation_function": "gelu"}, "activation_function"),
        ({"rotary_emb_interleaved": True}, "rotary_emb_interleaved"),
        ({"rotary_emb_scale_base": 512.0}, "rotary_emb_scale_base"),
        ({"num_experts": 8, "moe_every_n_layers": 2}, "num_experts"),
        ({"sliding_window": 8}, "sliding_window"),
        ({"architectures": ["NomicBertForSequenceClassification"]}, "architectures"),
    ],
    ids=str,
)
def test_other_encoders_of_this_code_are_refused(changes: dict[str, Any], param: str) -> None:
    with pytest.raises(UnsupportedError) as error:
        models.config_from_hf({**PUBLISHED, **changes})
    assert error.value.param == param


def test_vectors_are_those_of_the_references(
    tmp_path: Path, shared_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes, config = unfolded(FIXTURE["tensors"]), FIXTURE["config"]
    save_file(draw(shapes, FIXTURE["seed"], 1), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(PUBLISHED))
    words = {f"w{i}": i for i in range(config["vocab_size"])}
    Tokenizer(WordLevel(words, unk_token="w0")).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text("{}")
    monkeypatch.setenv("MLC_LLM_HOME", str(shared_folder / "home"))
    model = resolve_model(tmp_path, quantization="q0f32", progress=lambda _: None)
    ids, wanted = [text["ids"] for text in FIXTURE["texts"]], np.array(FIXTURE["results"])
    wanted = wanted / np.linalg.norm(wanted, axis=1, keepdims=True)
    with MLCEngine(model.folder, model_lib=model.model_lib) as engine:
        made = np.array([one.embedding for one in engine.embeddings.create(input=ids).data])
        assert np.abs(made - wanted).max() < 1e-3
        with pytest.raises(InvalidRequestError) as error:
            engine.embeddings.create(input=[[5] * 65])
        assert error.value.code == "context_length_exceeded"
