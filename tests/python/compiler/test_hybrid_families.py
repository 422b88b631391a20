"""What OPT, Apertus, DeepSeek 3.2 and the families that mix states with attention refuse by name,
and what they tell a user. Their logits are in `test_family_fixtures.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import pytest
import safetensors.numpy
from family_fixtures import load

from mlc_llm.compiler import models
from mlc_llm.compiler.convert import notes, open_source
from mlc_llm.compiler.convert.gguf import GGUFModel
from mlc_llm.compiler.layers import MoESpec, SelectiveSpec
from mlc_llm.errors import CorruptFileError, MLCError

import gguf_file  # isort: skip  (its folder is in the path since family_fixtures)

# Of a fixture: fields that it cannot have, and the one that the error names.
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "OPT-350m's norms": ("opt", {"do_layer_norm_before": False}, "do_layer_norm_before"),
    "OPT-350m's embeddings": ("opt", {"word_embed_proj_dim": 32}, "word_embed_proj_dim"),
    "more positions": ("opt", {"context_window_size": 65}, "context_window_size"),
    "Apertus without norms": ("apertus", {"qk_norm": False}, "qk_norm"),
    "another activation": ("apertus", {"hidden_act": "silu"}, "hidden_act"),
    "experts of another width": (
        "nemotron_h_experts", {"moe_latent_size": 32}, "moe_latent_size",
    ),
    "an unknown layer": (
        "nemotron_h", {"hybrid_override_pattern": "MX*--M"}, "hybrid_override_pattern",
    ),
    "limits of time steps": ("nemotron_h", {"time_step_limit": [0.1, 1.0]}, "time_step_limit"),
    "too many experts chosen": ("jamba", {"num_experts_per_tok": 5}, "num_experts_per_tok"),
    "a norm before the gate": (
        "falcon_h1_norm", {"mamba_norm_before_gate": True}, "mamba_norm_before_gate",
    ),
    "one factor of two": ("falcon_h1", {"mlp_multipliers": [0.5]}, "mlp_multipliers"),
    "a factor that is no number": (
        "falcon_h1", {"ssm_multipliers": [1, 1, "x", 1, 1]}, "ssm_multipliers",
    ),
    "heads of other widths": ("falcon_h1", {"mamba_d_head": 32}, "mamba_d_head"),
    "biases": ("falcon_h1", {"projectors_bias": True}, "projectors_bias"),
    "a layer of no kind": (
        "kimi_linear",
        {"linear_attn_config": {"full_attn_layers": [2], "kda_layers": [1, 3]}},
        "linear_attn_config",
    ),
    "a layer that is no number": (
        "kimi_linear",
        {"linear_attn_config": {"full_attn_layers": [{}], "kda_layers": [1]}},
        "linear_attn_config",
    ),
    "positions": ("kimi_linear", {"mla_use_nope": False}, "mla_use_nope"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_family_cannot_compute_is_refused_by_name(case: str) -> None:
    name, fields, param = REFUSED[case]
    with pytest.raises(MLCError) as caught:
        models.config_from_hf({**load(name).config, **fields})
    assert caught.value.param == param and param in str(caught.value)


def test_auto_is_the_rank_of_jambas_time_steps_and_experts_are_in_some_layers() -> None:
    config = {**load("jamba").config, "mamba_dt_rank": "auto", "hidden_size": 72}
    layers = models.get("jamba").decoder(models.config_from_hf(config)).layers
    mixers = [part for layer in layers for part in layer.parts if isinstance(part, SelectiveSpec)]
    assert [mixer.rank for mixer in mixers] == [5, 5]
    has_experts = [isinstance(layer.parts[1], MoESpec) for layer in layers]
    assert has_experts == [False, True, False, True]


def test_a_note_says_that_deepseeks_indexer_is_not_used(tmp_path: Path) -> None:
    for name, is_told in (("deepseek_v32", True), ("deepseek_v3", False)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(load(name).config))
        safetensors.numpy.save_file(load(name).weights, folder / "model.safetensors")
        said = " ".join(notes(open_source(folder), "q4f32_1"))
        assert ("behind 64 tokens every token attends to all" in said) == is_told


@pytest.mark.parametrize("values", [[0.5] * 3, "a text", None])
def test_a_curve_in_the_metadata_must_have_a_number_for_each_layer(
    values: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = gguf.GGUFWriter.add_array

    def changed(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
        if key != "xielu.beta":
            add(writer, key, value)
        elif isinstance(values, str):
            writer.add_string(key, values)
        elif values is not None:
            add(writer, key, values)

    monkeypatch.setattr(gguf.GGUFWriter, "add_array", changed)
    fixture = load("apertus")
    gguf_file.write(tmp_path / "m.gguf", fixture.config, fixture.weights)
    with pytest.raises(CorruptFileError, match=r"'xielu\.beta' must be a number for each of 4"):
        GGUFModel(tmp_path / "m.gguf").tensors()
