"""Tokenizers rebuilt from GGUF metadata, run by the `tokenizers` package."""

from __future__ import annotations

import json
import random

import pytest
from mlc_core_parts import Tokenizer as CoreTokenizer
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from mlc_llm.compiler.convert.gguf.tokenizer import tokenizer_files
from mlc_llm.compiler.convert.pretokenizers import PRE_TOKENIZERS
from mlc_llm.errors import CorruptFileError, UnsupportedError

TEXTS = [
    "Hello, we can use it! It's 12345 o'clock.",
    "  multiple   spaces\n\n\tand tabs \r\n",
    "Café déjà vu, naïve — “quotes” … 日本語 한국어 русский 🙂👍🏽",
    "<|im_start|>user\nhi<|im_end|>",
    "snake_case camelCase 3.14e-10 x=[1,2,3];",
    "",
    " ",
    "a",
]
CORPUS = [*TEXTS, "the quick brown fox " * 20, "def f(x): return x + 1\n" * 20, "0123456789 " * 9]


def random_texts(count=300):
    rng = random.Random(0)
    pools = ["abc DEF 019", "\n\t  ", "éßñ–", "日本語", "🙂👩‍👩‍👧", "'s're'LL", "<|im_end|>", "𝔘𝔫𝔦"]
    for _ in range(count):
        yield "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randrange(40)))


def rebuilt(metadata):
    files = tokenizer_files(metadata, "model.gguf")
    return Tokenizer.from_str(files["tokenizer.json"].decode()), files


def byte_level_metadata(tokenizer, pre, specials):
    """What llama.cpp's converter would write for a trained byte-level tokenizer."""
    value = json.loads(tokenizer.to_str())
    vocab = tokenizer.get_vocab()
    tokens = [token for token, _ in sorted(vocab.items(), key=lambda item: item[1])]
    merges = [m if isinstance(m, str) else " ".join(m) for m in value["model"]["merges"]]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if token in specials else 1 for token in tokens],
        "tokenizer.ggml.merges": merges,
    }


SPECIALS = ["<|im_start|>", "<|im_end|>"]
FAMILIES = [
    "gpt-2",
    "smollm",
    "llama-bpe",
    "qwen2",
    "deepseek-llm",
    "deepseek-coder",
    "deepseek-v3",
]


def trained(pre):
    """A byte-level tokenizer with the splitter of a family, trained here."""
    entry = PRE_TOKENIZERS[pre]
    tokenizer = Tokenizer(models.BPE(ignore_merges=entry.ignore_merges))
    value = json.loads(tokenizer.to_str())
    value |= {"pre_tokenizer": entry.to_json(), "normalizer": entry.normalizer}
    tokenizer = Tokenizer.from_str(json.dumps(value))
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=SPECIALS, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


@pytest.mark.parametrize("pre", FAMILIES)
def test_byte_level_equals_the_original(pre):
    original = trained(pre)
    metadata = byte_level_metadata(original, pre, SPECIALS)
    tokenizer, _ = rebuilt(metadata | {"tokenizer.ggml.add_bos_token": False})
    for text in [*TEXTS, *random_texts()]:
        expected = original.encode(text, add_special_tokens=False).ids
        assert tokenizer.encode(text).ids == expected, text
        assert tokenizer.decode(expected) == original.decode(expected), text


def test_digits_stand_alone_for_smollm():
    tokenizer, _ = rebuilt(byte_level_metadata(trained("gpt-2"), "smollm", SPECIALS))
    assert [len(token) for token in tokenizer.encode("123456").tokens] == [1] * 6


@pytest.mark.parametrize(
    ("pre", "pieces"),
    [
        ("gpt-2", ["Ġab", "123456", "Ċ"]),
        ("smollm", ["Ġab", "1", "2", "3", "4", "5", "6", "Ċ"]),
        ("llama-bpe", ["Ġab", "123", "456", "Ċ"]),
        ("qwen2", ["Ġab", "1", "2", "3", "4", "5", "6", "Ċ"]),
        ("deepseek-llm", ["Ġab", "1", "2", "3", "4", "5", "6", "Ċ"]),
        ("deepseek-coder", ["Ġab", "1", "2", "3", "4", "5", "6", "Ċ"]),
        ("deepseek-v3", ["Ġab", "123", "456", "Ċ"]),
        ("dbrx", ["Ġab", "123", "456", "Ċ"]),
        ("stablelm2", ["Ġab", "1", "2", "3", "4", "5", "6", "Ċ"]),
        ("falcon", ["Ġab", "123", "456", "Ċ"]),
        ("viking", ["Ġab", "1", "2", "3", "4", "5", "6", "Ċ"]),
    ],
)
def test_splits(pre, pieces):
    tokenizer, _ = rebuilt(byte_level_metadata(trained("gpt-2"), pre, SPECIALS))
    split = tokenizer.pre_tokenizer.pre_tokenize_str(" ab123456\n")
    assert [piece for piece, _ in split] == pieces


@pytest.mark.parametrize(
    ("pre", "text", "pieces"),
    [
        ("tekken", "ABCdef Ghi12/\n", ["ABCdef", " Ghi", "1", "2", "/\n"]),
        ("gpt-4o", "fooBar's 1234", ["foo", "Bar's", " ", "123", "4"]),
        ("kimi-k2", "你好ab1234 x", ["你好", "ab", "123", "4", " x"]),
        ("qwen35", "नमस्ते 12", ["नमस्ते", " ", "1", "2"]),
        ("qwen2", "नमस्ते", ["नमस", "्त", "े"]),
        ("bailingmoe", "a!\n 12", ["a", "!\n", " ", "1", "2"]),
        ("seed-coder", "a!\nb", ["a", "!", "\n", "b"]),
        ("qwen2", "a!\nb", ["a", "!\n", "b"]),
        ("bloom", "ab,cd 12", ["ab", ",", "cd", " 12"]),
        ("falcon", "a!!b", ["a", "!!", "b"]),
    ],
)
def test_splits_in_which_families_differ(pre, text, pieces):
    tokenizer, _ = rebuilt(byte_level_metadata(trained("gpt-2"), pre, SPECIALS))
    split = tokenizer.pre_tokenizer.pre_tokenize_str(text)
    assert [text[begin:end] for _, (begin, end) in split] == pieces


def test_the_core_reads_every_splitter():
    metadata = byte_level_metadata(trained("gpt-2"), "gpt-2", SPECIALS)
    for pre in PRE_TOKENIZERS:
        tokenizer, files = rebuilt(metadata | {"tokenizer.ggml.pre": pre})
        core = CoreTokenizer(files["tokenizer.json"].decode())
        for text in [*TEXTS, *random_texts(40)]:
            assert core.encode_batch([text]) == [
                tokenizer.encode(text, add_special_tokens=False).ids
            ]


def test_a_separator_at_the_end():
    metadata = byte_level_metadata(trained("gpt-2"), "roberta-bpe", SPECIALS)
    tokenizer, _ = rebuilt(metadata | {"tokenizer.ggml.seperator_token_id": 1})
    assert tokenizer.encode("hi").ids[-1] == 1
    assert tokenizer.encode("hi", add_special_tokens=False).ids[-1] != 1


def test_beginning_of_text():
    metadata = byte_level_metadata(trained("llama-bpe"), "llama-bpe", SPECIALS)
    metadata["tokenizer.ggml.bos_token_id"] = 0
    tokenizer, files = rebuilt(metadata)  # Llama 3 begins with it where nothing is said
    assert tokenizer.encode("hi").ids[0] == 0
    assert tokenizer.encode("hi", add_special_tokens=False).ids[0] != 0
    config = json.loads(files["tokenizer_config.json"])
    assert (config["bos_token"], config["add_bos_token"]) == ("<|im_start|>", True)
    assert "fim_pre_token" not in config
    _, files = rebuilt(metadata | {"tokenizer.ggml.fim_pre_token_id": 0})
    assert json.loads(files["tokenizer_config.json"])["fim_pre_token"] == "<|im_start|>"
    tokenizer, _ = rebuilt(metadata | {"tokenizer.ggml.add_bos_token": False})
    assert tokenizer.encode("hi").ids[0] != 0


def sentencepiece_like(add_prefix_space):
    """A Llama-2-style tokenizer as transformers' converter writes it, over pieces with scores."""
    trainer = trainers.BpeTrainer(
        vocab_size=260, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False
    )
    text = Tokenizer(models.BPE())
    text.normalizer = normalizers.Replace(" ", "▁")
    text.train_from_iterator(CORPUS, trainer)
    learned = sorted(text.get_vocab().items(), key=lambda item: item[1])
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    multi = [piece for piece, _ in learned[3:] if len(piece) > 1]
    single = [piece for piece, _ in learned[3:] if len(piece) == 1]
    pieces += multi + single
    kinds = [2, 3, 3] + [6] * 256 + [1] * (len(multi) + len(single))
    scores = [0.0] * 259 + [-float(index) for index in range(len(multi) + len(single))]
    return pieces, kinds, scores, original_of(pieces, multi, add_prefix_space)


def original_of(pieces, multi, add_prefix_space):
    """The converter's algorithm in its own order: merges sorted by score, then by length."""
    ids = {piece: index for index, piece in enumerate(pieces)}
    merges = []
    for rank, piece in enumerate(multi):
        for cut in range(1, len(piece)):
            if piece[:cut] in ids and piece[cut:] in ids:
                merges.append((-rank, cut, len(piece) - cut, piece[:cut], piece[cut:]))
    merges.sort(key=lambda merge: merge[:3], reverse=True)
    tokenizer = Tokenizer(
        models.BPE(
            vocab=ids,
            merges=[merge[3:] for merge in merges],
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    steps = [normalizers.Replace(" ", "▁")]
    ends = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    if add_prefix_space:
        steps.insert(0, normalizers.Prepend("▁"))
        ends.append(decoders.Strip(" ", 1, 0))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.decoder = decoders.Sequence(ends)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    return tokenizer


@pytest.mark.parametrize("add_prefix_space", [True, False])
def test_sentencepiece_equals_the_original(add_prefix_space):
    pieces, kinds, scores, original = sentencepiece_like(add_prefix_space)
    metadata = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_space_prefix": add_prefix_space,
    }
    tokenizer, files = rebuilt(metadata)
    for text in [*TEXTS, *random_texts()]:
        expected = original.encode(text).ids
        assert tokenizer.encode(text).ids == expected, text
        assert tokenizer.decode(expected) == original.decode(expected), text
    config = json.loads(files["tokenizer_config.json"])
    assert (config["unk_token"], config["eos_token"]) == ("<unk>", "</s>")


def test_named_chat_templates():
    metadata = byte_level_metadata(trained("gpt-2"), "gpt-2", SPECIALS)
    _, files = rebuilt(metadata | {"tokenizer.chat_template": "A"})
    assert json.loads(files["tokenizer_config.json"])["chat_template"] == "A"
    named = {"tokenizer.chat_template": "A", "tokenizer.chat_template.tool_use": "B"}
    _, files = rebuilt(metadata | named | {"tokenizer.chat_templates": ["tool_use"]})
    assert json.loads(files["tokenizer_config.json"])["chat_template"] == [
        {"name": "default", "template": "A"},
        {"name": "tool_use", "template": "B"},
    ]


def test_what_is_unknown_is_refused():
    metadata = byte_level_metadata(trained("gpt-2"), "gpt-2", SPECIALS)
    for change, error, match in (
        ({"tokenizer.ggml.pre": "tekken-9"}, UnsupportedError, "tekken-9.*known: .*smollm"),
        ({"tokenizer.ggml.model": "plamo2"}, UnsupportedError, "'plamo2'.*bert, gemma4"),
        ({"tokenizer.ggml.tokens": 7}, CorruptFileError, "tokens"),
        ({"tokenizer.ggml.token_type": [1]}, CorruptFileError, "token_type"),
        ({"tokenizer.ggml.merges": ["a"]}, CorruptFileError, r"merges\[0\]"),
        ({"tokenizer.ggml.model": "llama"}, CorruptFileError, "scores"),
    ):
        with pytest.raises(error, match=match):
            rebuilt(metadata | change)
