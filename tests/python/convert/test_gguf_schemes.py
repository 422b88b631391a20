"""GGUF's own types as schemes: nothing is rounded, mixtures are recorded, the rest is refused."""

from __future__ import annotations

import json

import gguf
import numpy as np
import pytest
import tiny_models
from gguf_random import HALVES, exact, random_blocks, write_mixed

from mlc_llm.compiler import models, quantization
from mlc_llm.compiler.convert import convert_model, open_source
from mlc_llm.compiler.convert import weights as convert_weights
from mlc_llm.compiler.convert.verify import verify
from mlc_llm.compiler.quantization.gguf import blocks as gguf_blocks
from mlc_llm.compiler.quantization.gguf.types import TYPES, TYPES_ANEW
from mlc_llm.errors import CorruptFileError, InvalidRequestError, NotFoundError, UnsupportedError

MIXED = {  # as Q4_K_M files are: v and down partly Q6_K; q and k may differ too
    "0.attn_v.weight": "Q6_K",
    "1.attn_k.weight": "Q5_0",
    "0.ffn_down.weight": "Q6_K",
    "1.ffn_down.weight": "F16",
    "output.weight": "Q6_K",
    "token_embd.weight": "Q8_0",
}


@pytest.mark.parametrize("kind", HALVES)
def test_stored_tensors_mean_the_same_bit_for_bit(kind):
    rng = np.random.default_rng(list(HALVES).index(kind))
    for rows, ins in ((37, 768), (16, 256), (1, 512)):
        raw = random_blocks(kind, rows, ins, rng)
        tensors = gguf_blocks.strips_of(TYPES[kind], gguf_blocks.read_blocks(TYPES[kind], raw))
        params = TYPES[kind].stored_params("m", (rows, ins))
        assert [(p.shape, p.dtype) for p in params] == [(t.shape, t.dtype) for t in tensors]
        found = gguf_blocks.dequantized(TYPES[kind], tensors, rows)
        assert np.array_equal(found.view(np.uint32), exact(kind, raw).view(np.uint32))


@pytest.mark.parametrize("kind", HALVES)
def test_a_type_takes_no_more_bytes_than_in_the_file(kind):
    raw = random_blocks(kind, 64, 512, np.random.default_rng(0))
    tensors = gguf_blocks.strips_of(TYPES[kind], gguf_blocks.read_blocks(TYPES[kind], raw))
    assert sum(tensor.nbytes for tensor in tensors) <= 1.03 * raw.nbytes


def converted(path, output, quantization="auto"):
    convert_model(open_source(path), output, quantization=quantization)
    assert verify(output) == []
    return json.loads((output / "mlc-chat-config.json").read_text())


@pytest.mark.parametrize("kind", ["Q2_K", "Q3_K", "Q5_0", "Q5_1", "Q5_K", "Q6_K"])
def test_a_model_takes_no_more_bytes_than_its_file(kind, tmp_path):
    """An engine maps what is stored, and its plan counts just that (test_plan.py)."""
    write_mixed(tmp_path / "m.gguf", {}, default=kind)
    converted(tmp_path / "m.gguf", tmp_path / "out")
    stored = sum(file.stat().st_size for file in (tmp_path / "out").glob("params_shard_*.bin"))
    given = sum(int(tensor.n_bytes) for tensor in gguf.GGUFReader(tmp_path / "m.gguf").tensors)
    assert 0.9 * given < stored <= 1.03 * given


def meaning(folder, config):
    """The folder's matrices as floats, by our names; checks that nothing else is stored."""
    tensors = tiny_models.read_mlc_folder(folder)
    scheme = quantization.get(config["quantization"], weight_types=config.get("weight_types"))
    family = models.config_from_hf(config["model_config"], "llama")
    found = {}
    for weight in models.weight_map(family):
        if weight.quantizable is None:
            found[weight.name] = tensors.pop(weight.name)
            continue
        parts = []
        for matrix in scheme.matrices(weight.name, weight.shape, weight.quantizable):
            parts.append(matrix.floats([tensors.pop(param.name) for param in matrix.stored]))
        found[weight.name] = np.concatenate(parts)
    assert not tensors
    return found


def test_a_mixed_file_keeps_every_type(tmp_path):
    theirs = write_mixed(tmp_path / "m.gguf", MIXED, default="Q4_K")
    config = converted(tmp_path / "m.gguf", tmp_path / "out")
    assert config["quantization"] == "gguf_q4_k"
    types = config["weight_types"]
    assert types["model.layers.0.self_attn.qkv_proj.weight"] == [["Q4_K", 384], ["Q6_K", 128]]
    assert types["model.layers.1.self_attn.qkv_proj.weight"] == [
        ["Q4_K", 256], ["Q5_0", 128], ["Q4_K", 128],
    ]  # fmt: skip
    assert types["model.layers.1.mlp.down_proj.weight"] == [["F16", 256]]
    assert "model.layers.1.mlp.gate_up_proj.weight" not in types
    ours = meaning(tmp_path / "out", config)
    for layer in range(2):
        block = f"blk.{layer}"
        q, k = (in_halves(theirs[f"{block}.attn_{n}.weight"], h) for n, h in (("q", 4), ("k", 2)))
        qkv = np.concatenate([q, k, theirs[f"{block}.attn_v.weight"]])
        names = {"self_attn.o_proj": "attn_output", "mlp.down_proj": "ffn_down"}
        expected = {n: theirs[f"{block}.{m}.weight"] for n, m in names.items()}
        expected["self_attn.qkv_proj"] = qkv
        gate_up = [theirs[f"{block}.ffn_{n}.weight"] for n in ("gate", "up")]
        expected["mlp.gate_up_proj"] = np.concatenate(gate_up)
        for name, value in expected.items():
            found = ours[f"model.layers.{layer}.{name}.weight"]
            assert np.array_equal(found.view(np.uint32), value.view(np.uint32)), name
    assert np.array_equal(ours["model.embed_tokens.weight"], theirs["token_embd.weight"])
    assert np.array_equal(ours["lm_head.weight"], theirs["output.weight"])


def test_chunks_may_end_inside_of_a_strip(tmp_path, monkeypatch):
    write_mixed(tmp_path / "m.gguf", {}, default="Q4_1", wide=96)
    config = converted(tmp_path / "m.gguf", tmp_path / "whole")
    monkeypatch.setattr(convert_weights, "_CHUNK_ELEMENTS", 21 * 256)
    converted(tmp_path / "m.gguf", tmp_path / "parts")
    whole, parts = (meaning(tmp_path / name, config) for name in ("whole", "parts"))
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)


def in_halves(rows, heads):
    """From llama.cpp's order of a head's rows to Hugging Face's."""
    return rows.reshape(heads, -1, 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def test_auto_is_the_type_of_most_weights(tmp_path):
    write_mixed(tmp_path / "q.gguf", {"token_embd.weight": "Q6_K"}, default="Q4_0")
    assert converted(tmp_path / "q.gguf", tmp_path / "q")["quantization"] == "gguf_q4_0"
    write_mixed(tmp_path / "f.gguf", {}, default="F16")
    assert converted(tmp_path / "f.gguf", tmp_path / "f")["quantization"] == "q0f16"
    folder = tiny_models.write_hf_folder(tmp_path / "hf", tiny_models.random_weights())
    assert converted(folder, tmp_path / "h")["quantization"] == "q4f32_1"


def test_the_larger_form_is_a_choice_and_has_the_same_values(tmp_path):
    kinds = {"0.ffn_up.weight": "Q5_0", "1.ffn_up.weight": "Q5_1", "1.attn_q.weight": "Q6_K"}
    write_mixed(tmp_path / "q.gguf", kinds, default="Q3_K")
    own, wide = (
        converted(tmp_path / "q.gguf", tmp_path / name, name) for name in ("auto", "auto_wide")
    )
    assert (own["quantization"], wide["quantization"]) == ("gguf_q3_k", "gguf_q3_k_wide")
    assert converted(tmp_path / "q.gguf", tmp_path / "n", "gguf_q3_k_wide") == wide
    found = {kind for runs in wide["weight_types"].values() for kind, _ in runs}
    assert {"Q5_0_WIDE", "Q5_1_WIDE", "Q6_K"} <= found
    assert not {"Q3_K", "Q5_0", "Q5_1"} & found
    values = [meaning(tmp_path / n, c) for n, c in (("auto", own), ("auto_wide", wide))]
    assert all(np.array_equal(values[0][name], values[1][name]) for name in values[0])
    folder = tiny_models.write_hf_folder(tmp_path / "hf", tiny_models.random_weights())
    assert converted(folder, tmp_path / "h", "auto_wide")["quantization"] == "q4f32_1"


def test_a_scheme_may_be_named_and_must_be_the_files(tmp_path):
    write_mixed(tmp_path / "q.gguf", {}, default="Q4_0")
    named = converted(tmp_path / "q.gguf", tmp_path / "q", "gguf_q4_0")
    assert "weight_types" not in named
    with pytest.raises(InvalidRequestError, match="choose gguf_q4_0, or auto"):
        converted(tmp_path / "q.gguf", tmp_path / "r", "gguf_q4_1")
    folder = tiny_models.write_hf_folder(tmp_path / "hf", tiny_models.random_weights())
    with pytest.raises(InvalidRequestError, match="GGUF file, .* and this model is neither"):
        converted(folder, tmp_path / "h", "gguf_q4_0")
    with pytest.raises(UnsupportedError, match="available: q0f16, .*gguf_q6_k"):
        converted(tmp_path / "q.gguf", tmp_path / "s", "gguf_q9_0")


def test_types_without_kernels_are_refused_by_tensor(tmp_path):
    write_mixed(tmp_path / "q.gguf", {"1.ffn_up.weight": "Q8_1"}, default="Q4_K")
    with pytest.raises(UnsupportedError, match=r"blk\.1\.ffn_up\.weight has type Q8_1"):
        converted(tmp_path / "q.gguf", tmp_path / "q")


@pytest.mark.parametrize("kind", TYPES_ANEW)
def test_types_with_code_books_are_quantized_anew_with_a_warning(kind, tmp_path):
    theirs = write_mixed(tmp_path / "q.gguf", {"1.ffn_up.weight": kind}, default="Q4_K")
    with pytest.warns(UserWarning, match=f"weights of {kind}, .* anew as Q8_0"):
        config = converted(tmp_path / "q.gguf", tmp_path / "q")
    name = "model.layers.1.mlp.gate_up_proj.weight"
    assert config["weight_types"][name] == [["Q4_K", 512], ["Q8_0", 512]]
    found = meaning(tmp_path / "q", config)[name][512:]
    exactly = theirs["blk.1.ffn_up.weight"]
    step = np.abs(exactly).reshape(512, -1, 32).max(-1) / 127
    assert np.abs(exactly).max() > 0
    assert (np.abs(found - exactly).reshape(512, -1, 32).max(-1) <= 0.51 * step + 1e-6).all()


def cut(path, folder, count):
    """A GGUF file's tensors in several files, as llama.cpp's gguf-split names and marks them."""
    reader = gguf.GGUFReader(path)
    paths = [folder / f"m-{i + 1:05}-of-{count:05}.gguf" for i in range(count)]
    for number, shard in enumerate(paths):
        writer = gguf.GGUFWriter(shard, "llama")
        if number == 0:
            for field in reader.fields.values():
                if not field.name.startswith("GGUF.") and field.name != "general.architecture":
                    kind = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
                    writer.add_key_value(field.name, field.contents(), field.types[0], kind)
        writer.add_uint16("split.no", number)
        writer.add_uint16("split.count", count)
        writer.add_int32("split.tensors.count", len(reader.tensors))
        for tensor in reader.tensors[number::count]:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    return paths


def test_a_model_in_several_files_is_one(tmp_path):
    write_mixed(tmp_path / "whole.gguf", MIXED, default="Q4_K")
    config = converted(tmp_path / "whole.gguf", tmp_path / "whole")
    paths = cut(tmp_path / "whole.gguf", tmp_path, 3)
    whole = meaning(tmp_path / "whole", config)
    for path in paths[:2]:  # any of them
        again = converted(path, tmp_path / path.stem)
        assert again == config
        parts = meaning(tmp_path / path.stem, again)
        assert all(np.array_equal(whole[name], parts[name]) for name in whole)


def test_files_that_are_not_of_one_model_are_refused(tmp_path):
    write_mixed(tmp_path / "whole.gguf", {}, default="Q4_0")
    paths = cut(tmp_path / "whole.gguf", tmp_path, 3)
    second = paths[1].read_bytes()
    paths[1].unlink()
    with pytest.raises(NotFoundError, match="00002-of-00003.*cut into 3 files"):
        open_source(paths[0])
    for bytes_of_second, problem in (
        (paths[2].read_bytes(), "split.no' is 2 of 3, not 1 of 3"),
        (second[:200], "cut off|longer|claims"),
    ):
        paths[1].write_bytes(bytes_of_second)
        with pytest.raises(CorruptFileError, match=problem):
            open_source(paths[0])
    alone = tmp_path / "alone.gguf"
    paths[0].rename(alone)
    with pytest.raises(CorruptFileError, match="one of 3 files, and its name does not"):
        open_source(alone)


def test_scales_that_are_no_numbers_are_refused(tmp_path):
    path = tmp_path / "q.gguf"
    write_mixed(path, {}, default="Q4_0")
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    data = bytearray(path.read_bytes())
    begin = tensors["blk.1.ffn_down.weight"].data_offset
    data[begin : begin + 2] = b"\x00\x7c"  # infinity, as a scale
    path.write_bytes(data)
    with pytest.raises(CorruptFileError, match="NaN or infinite"):
        converted(path, tmp_path / "q")


@pytest.mark.parametrize(
    "types",
    [
        [], "Q4_0", {"w.weight": []}, {"w.weight": [["Q4_0"]]}, {"w.weight": [["IQ3_S", 16]]},
        {"w.weight": [["Q4_0", -16], ["Q4_0", 32]]}, {"w.weight": [["Q4_0", True]]},
        {"w.weight": [["Q4_0", 15]]}, {"w.weight": [["Q4_K", 16]]}, {"w.weight": [[None, 16]]},
    ],
)  # fmt: skip
def test_a_damaged_record_is_refused(types):
    with pytest.raises(CorruptFileError) as caught:
        scheme = quantization.get("gguf_q4_1", weight_types=types)
        scheme.stored_params("w.weight", (16, 32), use="linear")
    assert caught.value.param == "weight_types"
