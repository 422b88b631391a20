"""LoRA adapters that are merged at conversion: formats, formulas, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import tiny_adapters
import tiny_models
from safetensors.numpy import load_file, save_file
from tiny_adapters import ALPHA, RANK, random_adapter, write_gguf, write_mlx, write_peft

from mlc_llm.cli.settings import path_and_scale
from mlc_llm.compiler.convert import open_source, write_weights
from mlc_llm.compiler.convert.adapters import open_adapter
from mlc_llm.errors import CorruptFileError, InvalidRequestError, NotFoundError, UnsupportedError

WEIGHTS = tiny_models.random_weights()
SCALE = ALPHA / RANK


@pytest.fixture
def base(tmp_path):
    return tiny_models.write_hf_folder(tmp_path / "hf", WEIGHTS)


def converted(base, output, *adapters, quantization="q0f32"):
    write_weights(open_source(base), output, quantization=quantization, adapters=adapters)
    return tiny_models.read_mlc_folder(output)


def same(got, wanted, tolerance=1e-5):
    assert got.keys() == wanted.keys()
    for name, value in wanted.items():
        assert np.abs(got[name] - value).max() <= tolerance * np.abs(value).max(), name


def expected(tmp_path, weights):
    """The folder of a model whose weights were merged before it was converted."""
    folder = tiny_models.write_hf_folder(tmp_path / "merged", weights)
    return converted(folder, tmp_path / "merged-MLC")


@pytest.mark.parametrize("form", ["peft", "mlx", "gguf"])
def test_every_format_gives_the_merged_weights(form, base, tmp_path):
    adapter = random_adapter()
    path = {
        "peft": lambda: write_peft(tmp_path / "a", adapter),
        "mlx": lambda: write_mlx(tmp_path / "a", adapter, SCALE),
        "gguf": lambda: write_gguf(tmp_path / "a.gguf", adapter),
    }[form]()
    got = converted(base, tmp_path / "out", (open_adapter(path), 1.0))
    plain = converted(base, tmp_path / "plain")
    same(got, expected(tmp_path, adapter.merged(WEIGHTS, SCALE)))
    changed = {name for name in plain if not np.array_equal(got[name], plain[name])}
    assert changed == {
        f"model.layers.{layer}.{name}.weight"
        for layer in range(tiny_models.LAYERS)
        for name in ("self_attn.qkv_proj", "mlp.down_proj")
    }


@pytest.mark.parametrize("form", ["peft", "gguf"])
def test_the_base_may_be_a_gguf_file(form, tmp_path):
    adapter = random_adapter()
    base = tiny_models.write_gguf(tmp_path / "m.gguf", WEIGHTS)
    write = {"peft": write_peft, "gguf": write_gguf}[form]
    found = open_adapter(write(tmp_path / ("a.gguf" if form == "gguf" else "a"), adapter))
    same(
        converted(base, tmp_path / "out", (found, 1.0)),
        expected(tmp_path, adapter.merged(WEIGHTS, SCALE)),
    )


def test_scales_add_up_over_several_adapters(base, tmp_path):
    first, second = random_adapter(1), random_adapter(2, ("mlp.up_proj", "self_attn.q_proj"))
    one = open_adapter(write_peft(tmp_path / "one", first))
    two = open_adapter(write_peft(tmp_path / "two", second))
    wanted = second.merged(first.merged(WEIGHTS, 0.5 * SCALE), -2 * SCALE)
    same(
        converted(base, tmp_path / "out", (one, 0.5), (two, -2.0)),
        expected(tmp_path, wanted),
    )


def test_rslora_and_patterns(base, tmp_path):
    adapter = random_adapter()
    wide = random_adapter(3, ("layers.1.mlp.down_proj",), rank=8)
    adapter.a |= wide.a
    adapter.b |= wide.b
    config = {
        "use_rslora": True,
        "rank_pattern": {"layers.1.mlp.down_proj": 8},
        "alpha_pattern": {"k_proj": 3, r"layers\.\d+\.mlp\.down_proj": 5},
    }
    path = write_peft(tmp_path / "a", adapter, **config)
    wanted = dict(WEIGHTS)
    for module in adapter.a:
        alpha = 3 if "k_proj" in module else 5 if "mlp" in module else ALPHA
        rank = adapter.a[module].shape[0]
        part = tiny_adapters.TinyAdapter({module: adapter.a[module]}, {module: adapter.b[module]})
        wanted = part.merged(wanted, alpha / math.sqrt(rank))
    same(converted(base, tmp_path / "out", (open_adapter(path), 1.0)), expected(tmp_path, wanted))


@pytest.mark.parametrize("form", ["peft", "mlx"])
def test_dora_sets_the_length_of_rows(form, base, tmp_path):
    adapter = random_adapter()
    rng = np.random.default_rng(5)
    adapter.m = {
        module: rng.uniform(0.5, 2, len(b)).astype(np.float32) for module, b in adapter.b.items()
    }
    path = tmp_path / "a"
    write_peft(path, adapter) if form == "peft" else write_mlx(path, adapter, SCALE)
    same(
        converted(base, tmp_path / "out", (open_adapter(path), 1.0)),
        expected(tmp_path, adapter.merged(WEIGHTS, SCALE)),
    )


def test_an_embedding_has_its_own_form(base, tmp_path):
    adapter = random_adapter(1, ("embed_tokens",))
    found = open_adapter(write_peft(tmp_path / "a", adapter))
    same(
        converted(base, tmp_path / "out", (found, 1.0)),
        expected(tmp_path, adapter.merged(WEIGHTS, SCALE)),
    )


def test_a_tied_embedding_is_refused(tmp_path):
    weights = tiny_models.random_weights(tied=True)
    base = tiny_models.write_hf_folder(tmp_path / "hf", weights, tie_word_embeddings=True)
    path = write_peft(tmp_path / "a", random_adapter(1, ("embed_tokens",)))
    with pytest.raises(UnsupportedError, match="also the head"):
        converted(base, tmp_path / "out", (open_adapter(path), 1.0))


def test_weights_are_rounded_once_behind_the_merge(base, tmp_path):
    adapter = random_adapter()
    folder = tiny_models.write_hf_folder(tmp_path / "merged", adapter.merged(WEIGHTS, SCALE))
    found = open_adapter(write_peft(tmp_path / "a", adapter))
    got = converted(base, tmp_path / "out", (found, 1.0), quantization="q8f32_1")
    wanted = converted(folder, tmp_path / "wanted", quantization="q8f32_1")
    for name, value in wanted.items():
        if name.endswith("q_weight"):  # the last bit of a sum may round to another code
            assert np.mean(got[name].view(np.uint8) == value.view(np.uint8)) > 0.99, name
        else:
            assert np.allclose(got[name], value, rtol=1e-5), name


REFUSED = [
    ({"peft_type": "IA3"}, UnsupportedError, "IA3"),
    ({"modules_to_save": ["lm_head"]}, UnsupportedError, "modules_to_save"),
    ({"bias": "all"}, UnsupportedError, "bias"),
    ({"layer_replication": [[0, 2]]}, UnsupportedError, "layer_replication"),
    ({"use_qalora": True}, UnsupportedError, "use_qalora.*not known"),
    ({"alora_invocation_tokens": [1, 2]}, UnsupportedError, "alora_invocation_tokens"),
    ({"lora_alpha": "x"}, CorruptFileError, "lora_alpha"),
    ({"lora_alpha": float("nan")}, CorruptFileError, "lora_alpha"),
    ({"r": 3}, CorruptFileError, "rank 4.*says 3"),
    ({"use_dora": True}, CorruptFileError, "lora_magnitude_vector"),
    ({"rank_pattern": {"(a+)+$": 4}}, UnsupportedError, "simpler"),
    ({"alpha_pattern": {"[": 4}}, UnsupportedError, "simpler"),
]


@pytest.mark.parametrize(("config", "error", "match"), REFUSED)
def test_what_a_config_may_not_say(config, error, match, tmp_path):
    path = write_peft(tmp_path / "a", random_adapter(), **config)
    with pytest.raises(error, match=match):
        open_adapter(path)


def test_unknown_keys_with_nothing_in_them_are_no_fault(tmp_path):
    path = write_peft(tmp_path / "a", random_adapter(), use_tomorrows_idea=False, velora_config={})
    assert len(open_adapter(path).factors) == 6


def damaged(change):
    def write(folder):
        path = write_peft(folder, random_adapter())
        tensors = load_file(path / "adapter_model.safetensors")
        change(tensors)
        save_file(tensors, path / "adapter_model.safetensors")
        return path

    return write


FIRST = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"


def without_a(tensors):
    del tensors[FIRST]


def with_nan(tensors):
    tensors[FIRST][0, 0] = np.nan


def with_other_rank(tensors):
    tensors[FIRST.replace("lora_A", "lora_B")] = np.zeros((64, 2), np.float32)


def with_another_width(tensors):
    tensors[FIRST] = np.zeros((RANK, 2 * tiny_models.HIDDEN), np.float32)


def with_another_layer(tensors):
    for part in ("lora_A", "lora_B"):
        old = FIRST.replace("lora_A", part)
        tensors[old.replace("layers.0", "layers.9")] = tensors.pop(old)


def with_a_whole_weight(tensors):
    tensors["base_model.model.lm_head.weight"] = np.zeros((4, 4), np.float32)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (dict.clear, CorruptFileError, "no factors"),
        (without_a, CorruptFileError, "no lora_A"),
        (with_nan, CorruptFileError, "NaN"),
        (with_other_rank, CorruptFileError, "shapes"),
        (with_another_width, InvalidRequestError, r"\[64, 128\], and the weight \[64, 64\]"),
        (with_another_layer, InvalidRequestError, "no weight .*layers.9.*another base"),
        (with_a_whole_weight, UnsupportedError, "no factor"),
    ],
)
def test_damaged_and_foreign_adapters(change, error, match, base, tmp_path):
    path = damaged(change)(tmp_path / "a")
    with pytest.raises(error, match=match):
        converted(base, tmp_path / "out", (open_adapter(path), 1.0))
    assert not (tmp_path / "out").exists()


def test_files_that_are_no_adapter(base, tmp_path):
    with pytest.raises(NotFoundError, match="no such folder"):
        open_adapter(tmp_path / "nowhere")
    with pytest.raises(NotFoundError, match="adapter_config.json"):
        open_adapter(base)
    with pytest.raises(InvalidRequestError, match="no adapter"):
        open_adapter(tiny_models.write_gguf(tmp_path / "m.gguf", WEIGHTS))
    torch = tmp_path / "torch"
    torch.mkdir()
    (torch / "adapter_model.bin").write_bytes(b"x")
    with pytest.raises(UnsupportedError, match="safetensors"):
        open_adapter(torch)
    whole = write_mlx(tmp_path / "full", random_adapter(), SCALE, fine_tune_type="full")
    with pytest.raises(UnsupportedError, match="full"):
        open_adapter(whole)
    cut = write_peft(tmp_path / "cut", random_adapter())
    data = (cut / "adapter_model.safetensors").read_bytes()
    (cut / "adapter_model.safetensors").write_bytes(data[:-9])
    with pytest.raises(CorruptFileError, match="cut off"):
        open_adapter(cut)


def test_a_gguf_adapter_of_another_architecture(base, tmp_path):
    path = write_gguf(tmp_path / "a.gguf", random_adapter(), architecture="qwen2")
    adapter = open_adapter(path)
    assert "rsLoRA" in adapter.notes[0]
    with pytest.raises(InvalidRequestError, match="'qwen2', and the model's llama"):
        converted(base, tmp_path / "out", (adapter, 1.0))


def test_alpha_0_of_a_gguf_adapter_means_a_scale_of_1(base, tmp_path):
    adapter = random_adapter()
    found = open_adapter(write_gguf(tmp_path / "a.gguf", adapter, alpha=0))
    same(
        converted(base, tmp_path / "out", (found, 1.0)),
        expected(tmp_path, adapter.merged(WEIGHTS, 1.0)),
    )


def test_types_of_a_file_cannot_be_kept(tmp_path):
    base = tiny_models.write_gguf(tmp_path / "m.gguf", WEIGHTS)
    adapter = open_adapter(write_peft(tmp_path / "a", random_adapter()))
    with pytest.raises(InvalidRequestError, match="auto keeps .* choose another one"):
        converted(base, tmp_path / "out", (adapter, 1.0), quantization="auto")


def test_the_start_of_training_is_told(tmp_path):
    path = write_peft(tmp_path / "a", random_adapter(), init_lora_weights="pissa_niter_4")
    assert "pissa" in open_adapter(path).notes[0]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("a/b", ("a/b", 1.0)), ("a:0.5", ("a", 0.5)), ("a:-2", ("a", -2.0)), ("C:\\a", ("C:\\a", 1))],
)
def test_a_path_may_have_a_scale(text, wanted):
    assert path_and_scale(text) == wanted


def test_a_scale_is_a_finite_number():
    with pytest.raises(InvalidRequestError, match="finite"):
        path_and_scale("a:inf")


def test_how_much_is_left_is_measured(base, tmp_path):
    from mlc_llm.compiler.convert.adapters.effect import effect

    def measured(scale, quantization):
        adapter = open_adapter(write_peft(tmp_path / f"a{scale}{quantization}", random_adapter()))
        ids = list(range(3, 40))
        return effect(open_source(base), [(adapter, scale)], ids, scheme=quantization)

    strong, weak = measured(0.1, "q4f32_1"), measured(1e-4, "q4f32_1")
    assert strong.of_adapter > weak.of_adapter > 0
    assert not strong.is_little and weak.is_little
    assert measured(0.1, "q8f32_1").lost < strong.lost


def test_a_config_may_be_no_json(tmp_path):
    path = write_peft(tmp_path / "a", random_adapter())
    (path / "adapter_config.json").write_text("{")
    with pytest.raises(CorruptFileError, match="JSON"):
        open_adapter(path)
    (path / "adapter_config.json").write_text(json.dumps([1]))
    with pytest.raises(CorruptFileError, match="object"):
        open_adapter(path)
