"""mlc-chat-config.json and the conv_template object derived from Jinja templates."""

from __future__ import annotations

import json

import pytest
import tiny_models

from mlc_llm.compiler.convert import (
    ConfigOverrides,
    convert_model,
    open_source,
    write_config,
    write_weights,
)
from mlc_llm.compiler.convert.chat_config import tokenizer_info
from mlc_llm.compiler.convert.conv_template import conversation_template
from mlc_llm.errors import CorruptFileError, InvalidRequestError, NotFoundError

FIELDS = (
    "version model_type quantization model_config vocab_size active_vocab_size context_window_size "
    "sliding_window_size prefill_chunk_size attention_sink_size tensor_parallel_shards "
    "pipeline_parallel_stages temperature presence_penalty frequency_penalty repetition_penalty "
    "top_p tokenizer_files tokenizer_info conv_template pad_token_id bos_token_id eos_token_id "
    "model_task"
).split()


def config_of(tmp_path, *, generation=None, overrides=None, files=None, **config):
    folder = tiny_models.write_hf_folder(tmp_path / "hf", tiny_models.random_weights(), **config)
    if generation is not None:
        (folder / "generation_config.json").write_text(json.dumps(generation))
    for name, text in (files or {}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    output = tmp_path / "out"
    write_config(
        open_source(folder),
        output,
        quantization="q4f32_1",
        overrides=ConfigOverrides(**(overrides or {})),
    )
    return json.loads((output / "mlc-chat-config.json").read_text()), output


def test_all_fields(tmp_path):
    config, output = config_of(tmp_path)
    assert list(config) == FIELDS
    assert (config["model_type"], config["quantization"]) == ("llama", "q4f32_1")
    assert config["vocab_size"] == tiny_models.VOCAB
    assert config["active_vocab_size"] == len(tiny_models.tokens())
    assert config["context_window_size"] == config["prefill_chunk_size"] == 512
    assert config["model_config"]["max_batch_size"] == 128
    assert config["tokenizer_files"] == ["tokenizer.json", "tokenizer_config.json"]
    assert all((output / name).is_file() for name in config["tokenizer_files"])


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_json_does_not_have_is_refused(tmp_path, wrong):
    for name in ("temperature", "min_p"):
        with pytest.raises(CorruptFileError, match=f"{name} is .* must be finite"):
            config_of(tmp_path, generation={name: wrong})


@pytest.mark.parametrize("part", ["added_tokens", "decoder", "normalizer"])
def test_a_number_in_place_of_a_part_of_the_tokenizer(tmp_path, part):
    """The core says what is wrong, when it reads the file."""
    tokenizer = json.loads(tiny_models.tokenizer_json())
    tokenizer[part] = 5 if part == "added_tokens" else {"type": "Sequence", f"{part}s": 5}
    config, _ = config_of(tmp_path, files={"tokenizer.json": json.dumps(tokenizer)})
    assert config["active_vocab_size"] == 260


def test_generation_config_comes_first(tmp_path):
    generation = {"temperature": 0.6, "top_p": 0.9, "eos_token_id": [2, 0], "pad_token_id": 0}
    config, _ = config_of(tmp_path, generation=generation, temperature=0.1, eos_token_id=2)
    assert (config["temperature"], config["top_p"]) == (0.6, 0.9)
    assert config["eos_token_id"] == config["conv_template"]["stop_token_ids"] == [2, 0]
    assert (config["bos_token_id"], config["pad_token_id"]) == (1, 0)


@pytest.mark.parametrize("field", ["bos_token_id", "eos_token_id"])
def test_a_negative_token_is_refused_by_name(tmp_path, field):
    """Before its weights are converted."""
    for wrong in (-5, [2, -1]):
        with pytest.raises(CorruptFileError, match=field) as caught:
            config_of(tmp_path, generation={field: wrong})
        assert caught.value.param == field
        with pytest.raises(CorruptFileError, match=field):
            write_weights(open_source(tmp_path / "hf"), tmp_path / "out", quantization="q4f32_1")
        assert not (tmp_path / "out").exists()


def test_a_padding_token_of_minus_one_means_none(tmp_path):
    config, _ = config_of(tmp_path, generation={"pad_token_id": -1})
    assert config["pad_token_id"] == 0


def test_top_k_and_min_p_are_kept_where_they_say_something(tmp_path):
    config, output = config_of(tmp_path, generation={"top_k": 20, "min_p": 0.0, "num_beams": 1})
    assert config["top_k"] == 20 and "min_p" not in config
    original = json.loads((output / "generation_config.json").read_text())
    assert original == {"top_k": 20, "min_p": 0.0, "num_beams": 1}


def test_a_gguf_files_own_sampling_is_kept(tmp_path):
    def recommend(writer):
        writer.add_float32("general.sampling.temp", 0.2)
        writer.add_float32("general.sampling.top_p", 0.9)
        writer.add_int32("general.sampling.top_k", 40)
        writer.add_float32("general.sampling.penalty_repeat", 1.1)

    file = tiny_models.write_gguf(
        tmp_path / "m.gguf", tiny_models.random_weights(), add_metadata=recommend
    )
    write_config(open_source(file), tmp_path / "out", quantization="auto")
    config = json.loads((tmp_path / "out" / "mlc-chat-config.json").read_text())
    names = ("temperature", "top_p", "top_k", "repetition_penalty")
    assert [config[name] for name in names] == [0.2, 0.9, 40, 1.1]


def test_overrides(tmp_path):
    overrides = {
        "context_window_size": 4096,
        "prefill_chunk_size": 128,
        "sliding_window_size": 256,
        "attention_sink_size": 4,
        "tensor_parallel_shards": 2,
        "max_batch_size": 8,
        "conv_template": "my-template",
    }
    config, _ = config_of(tmp_path, overrides=overrides, intermediate_size=128)
    for name in set(overrides) - {"max_batch_size", "conv_template"}:
        assert config[name] == config["model_config"][name] == overrides[name]
    assert config["model_config"]["max_batch_size"] == 8
    assert config["conv_template"]["name"] == "my-template"


def test_a_template_object_of_the_config_is_kept(tmp_path):
    made, _ = config_of(tmp_path / "0")
    stored, named = {"name": "llava", "roles": {"user": "U"}}, {"conv_template": "mine"}
    kept, _ = config_of(tmp_path / "1", conv_template=stored)
    renamed, _ = config_of(tmp_path / "2", overrides=named, conv_template=stored)
    assert kept["conv_template"] == stored
    assert renamed["conv_template"] == {**stored, "name": "mine"}
    for other in ("chatml", 3, ["a"]):
        config, _ = config_of(tmp_path / type(other).__name__, conv_template=other)
        assert config["conv_template"] == made["conv_template"]


@pytest.mark.parametrize("name", ["context_window_size", "prefill_chunk_size", "max_batch_size"])
def test_senseless_sizes_are_refused(name, tmp_path):
    with pytest.raises(InvalidRequestError, match=name.replace("_", "-")) as caught:
        config_of(tmp_path, overrides={name: 0})
    assert caught.value.param == name


def test_template_files_outrank_the_config(tmp_path):
    _, output = config_of(tmp_path, files={"chat_template.jinja": "NEW"})
    saved = json.loads((output / "tokenizer_config.json").read_text())
    assert (saved["chat_template"], saved["eos_token"]) == ("NEW", "<|im_end|>")


def test_several_template_files(tmp_path):
    files = {"chat_template.jinja": "NEW", "additional_chat_templates/tool_use.jinja": "TOOLS"}
    _, output = config_of(tmp_path, files=files)
    saved = json.loads((output / "tokenizer_config.json").read_text())
    assert saved["chat_template"] == [
        {"name": "default", "template": "NEW"},
        {"name": "tool_use", "template": "TOOLS"},
    ]


@pytest.mark.parametrize("own", ["OWN", None])
def test_a_processors_template_serves_where_the_tokenizer_has_none(own, tmp_path):
    """Models that also take pictures had it in this file before transformers 5."""
    tokenizer = json.dumps({"chat_template": own, "eos_token": "<|im_end|>"})
    files = {"tokenizer_config.json": tokenizer, "chat_template.json": '{"chat_template": "OLD"}'}
    _, output = config_of(tmp_path, files=files)
    saved = json.loads((output / "tokenizer_config.json").read_text())
    assert (saved["chat_template"], saved["eos_token"]) == (own or "OLD", "<|im_end|>")


def test_a_damaged_generation_config_is_named(tmp_path):
    folder = tiny_models.write_hf_folder(tmp_path / "hf", tiny_models.random_weights())
    (folder / "generation_config.json").write_text("{")
    with pytest.raises(CorruptFileError, match="generation_config.json"):
        write_config(open_source(folder), tmp_path / "out", quantization="q0f32")


def test_a_missing_tokenizer_is_told_before_anything_is_written(tmp_path):
    folder = tiny_models.write_hf_folder(tmp_path / "hf", tiny_models.random_weights())
    (folder / "tokenizer.json").unlink()
    with pytest.raises(NotFoundError, match="tokenizer.json is missing; download"):
        convert_model(open_source(folder), tmp_path / "out", quantization="q0f32")
    (folder / "tokenizer.model").write_bytes(b"sentencepiece")
    with pytest.raises(CorruptFileError, match="tokenizer.model: not a SentencePiece model"):
        convert_model(open_source(folder), tmp_path / "out", quantization="q0f32")
    assert not (tmp_path / "out").exists()


def test_tokenizer_info():
    byte_level = {"decoder": {"type": "ByteLevel"}, "normalizer": None}
    assert tokenizer_info(byte_level) == {
        "token_postproc_method": "byte_level",
        "prepend_space_in_encode": False,
        "strip_space_in_decode": False,
    }
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    prepend = {"type": "Prepend", "prepend": "▁"}
    assert tokenizer_info(
        {
            "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, strip]},
            "normalizer": {"type": "Sequence", "normalizers": [prepend]},
        }
    ) == {
        "token_postproc_method": "byte_fallback",
        "prepend_space_in_encode": True,
        "strip_space_in_decode": True,
    }
    assert tokenizer_info({})["token_postproc_method"] == "byte_fallback"


CHATML_WITH_DEFAULT = (
    "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nBe kind.<|im_end|>\\n' }}"
    "{% endif %}" + tiny_models.TEMPLATE
)
LLAMA3 = (
    "{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + "
    "'<|end_header_id|>\\n\\n' + m['content'] | trim + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}"
    "{% endif %}"
)
PHI3 = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|>\\n' + m['content'] + '<|end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"
)
LLAMA2 = (
    "{{ bos_token }}{% set s = '' %}{% if messages[0].role == 'system' %}"
    "{{ '[INST] <<SYS>>\\n' + messages[0].content + '\\n<</SYS>>\\n\\n' }}"
    "{% set messages = messages[1:] %}{% set s = 'x' %}{% endif %}"
    "{% for m in messages %}{% if m.role == 'user' %}"
    "{% if not (loop.first and s) %}{{ '[INST] ' }}{% endif %}{{ m.content + ' [/INST]' }}"
    "{% else %}{{ ' ' + m.content + ' </s>' }}{% endif %}{% endfor %}"
)


def derived(template, **special):
    return conversation_template({"chat_template": template, **special}, 2)


def test_chatml():
    found = derived(CHATML_WITH_DEFAULT)
    assert found["name"] == "chatml"
    assert found["system_template"] == "<|im_start|>system\n{system_message}<|im_end|>\n"
    assert found["system_message"] == "Be kind."
    assert found["roles"]["user"] == "<|im_start|>user"
    assert found["roles"]["assistant"] == "<|im_start|>assistant"
    assert found["seps"] == ["<|im_end|>\n"]
    assert found["role_content_sep"] == found["role_empty_sep"] == "\n"
    assert found["add_role_after_system_message"] is True
    assert (found["stop_str"], found["stop_token_ids"]) == ([], [2])


def test_llama3():
    found = derived(LLAMA3, bos_token={"content": "<|begin_of_text|>"})
    assert found["name"] == "llama-3"
    assert found["system_template"] == (
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n{system_message}<|eot_id|>"
    )
    assert found["roles"]["user"] == "<|start_header_id|>user"
    assert found["role_content_sep"] == found["role_empty_sep"] == "<|end_header_id|>\n\n"


def test_phi3_and_a_list_of_templates():
    named = [{"name": "tool_use", "template": "x"}, {"name": "default", "template": PHI3}]
    found = conversation_template({"chat_template": named}, [1, 2])
    assert found["system_template"] == "<|system|>\n{system_message}<|end|>\n"
    assert found["stop_token_ids"] == [1, 2]


def test_llama2_puts_the_system_message_inside_the_first_turn():
    found = derived(LLAMA2, bos_token="<s>")
    assert found["add_role_after_system_message"] is False
    assert found["system_template"] == "<s>[INST] <<SYS>>\n{system_message}\n<</SYS>>\n\n"
    assert found["seps"] == [" [/INST]", " </s>"]
    assert found["roles"]["user"] == "[INST]"


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('no system role') }}",
        "{% for %}",
        "{{ messages.__class__.__mro__ }}",
        "no messages at all",
        "{% for i in range(99999) %}{% for i in range(99999) %}x{% endfor %}{% endfor %}",
        "{% for m in messages %}{{ m.content | upper }}{% endfor %}",
        7,
        None,
    ],
)
def test_other_templates_give_a_plain_object(template):
    found = derived(template)
    assert found["name"] == "custom"
    assert found["system_template"] == "{system_message}"
