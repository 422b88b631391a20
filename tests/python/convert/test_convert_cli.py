"""The commands convert_weight and gen_config, as their users call them."""

from __future__ import annotations

import json

import pytest
import tiny_adapters
import tiny_models

from mlc_llm.cli import named, parser_of
from mlc_llm.compiler.convert.verify import verify
from mlc_llm.errors import InvalidRequestError, NotFoundError, UnsupportedError


def mlc_llm(*arguments):
    words = named([str(argument) for argument in arguments])
    args = parser_of(words[0]).parse_args(words)
    args.run(args)


@pytest.fixture
def hf_folder(tmp_path):
    return tiny_models.write_hf_folder(tmp_path / "hf", tiny_models.random_weights())


def test_the_two_commands_make_a_whole_folder(hf_folder, tmp_path, capsys):
    output = tmp_path / "out-MLC"
    config = hf_folder / "config.json"
    mlc_llm("convert_weight", config, "--quantization", "q4f16_1", "-o", output)
    printed = capsys.readouterr().out
    assert "Bits per parameter: 4.5" in printed
    assert f"Saved to directory: {output}" in printed
    options = ("--context-window-size", "128", "--prefill-chunk-size", "64", "--conv-template", "x")
    mlc_llm("gen_config", hf_folder, "--quantization", "q4f16_1", *options, "-o", output)
    written = json.loads((output / "mlc-chat-config.json").read_text())
    assert (written["context_window_size"], written["prefill_chunk_size"]) == (128, 64)
    assert written["conv_template"]["name"] == "x"
    assert verify(output) == []


def test_config_and_source_may_lie_apart(hf_folder, tmp_path):
    config = tmp_path / "elsewhere" / "config.json"
    config.parent.mkdir()
    (hf_folder / "config.json").rename(config)
    common = ("--quantization", "q0f16", "--source", hf_folder, "-o", tmp_path / "out")
    mlc_llm("convert-weight", config, *common, "--source-format", "huggingface-safetensor")
    assert verify(tmp_path / "out") == []


def test_a_gguf_file_is_config_and_source_at_once(tmp_path):
    path = tiny_models.write_gguf(tmp_path / "m.gguf", tiny_models.random_weights())
    common = (path, "--quantization", "q4f32_1", "-o", tmp_path / "out")
    mlc_llm("gen-config", *common)
    mlc_llm("convert_weight", *common, "--device", "cuda")
    assert verify(tmp_path / "out") == []
    assert (tmp_path / "out" / "tokenizer.json").is_file()


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        (("--lora-adapter", "x"), NotFoundError, "x: no such folder"),
        (("--source-format", "awq"), InvalidRequestError, "awq"),
        (("--source-format", "huggingface-torch"), UnsupportedError, "safetensors first"),
        (("--source", "nowhere"), NotFoundError, "nowhere"),
        (("--model-type", "gpt9"), UnsupportedError, "gpt9"),
        (("--quantization", "q5"), UnsupportedError, "q5.*available"),
    ],
)
def test_what_is_refused(options, error, match, hf_folder, tmp_path):
    with pytest.raises(error, match=match):
        mlc_llm(
            "convert_weight", hf_folder, "--quantization", "q0f32", "-o", tmp_path / "o", *options
        )
    assert not (tmp_path / "o").exists()


def test_an_adapter_is_merged_and_measured(hf_folder, tmp_path, capsys):
    adapter = tiny_adapters.write_peft(tmp_path / "adapter", tiny_adapters.random_adapter())
    words = ("convert_weight", hf_folder, "--quantization", "q4f16_1", "--lora-adapter")
    mlc_llm(*words, f"{adapter}:0.1", "-o", tmp_path / "strong")
    said = capsys.readouterr().err
    assert "The adapter changes the answers by" in said and "Little" not in said
    mlc_llm(*words, f"{adapter}:0.0001", "-o", tmp_path / "weak")
    assert "Little of the adapter is left" in capsys.readouterr().err
    assert verify(tmp_path / "strong") == []
