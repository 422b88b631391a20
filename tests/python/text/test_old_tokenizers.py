"""Tokenizers made from files older than tokenizer.json, against the packages that wrote them:
`sentencepiece`, `tiktoken` and `tokenizers`; RWKV's against its rule, written down here."""

from __future__ import annotations

import base64
import contextlib
import functools
import io
import json
import math
import random
import re
import struct
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import random_text
import sentencepiece
import tiktoken
import tokenizer_zoo
from mlc_core_parts import Tokenizer
from random_text import first_difference
from tiktoken._educational import bpe_train
from tokenizers import normalizers

from mlc_llm._core import CoreError
from mlc_llm.compiler.convert.gguf.tokenizer import tokenizer_files
from mlc_llm.compiler.convert.hf import HuggingFaceFolder
from mlc_llm.errors import CorruptFileError, MLCError, NotFoundError, UnsupportedError

CHUNK = 2500
# `sentencepiece` takes the names of special tokens and bytes for text.
SPECIAL = re.compile("<unk>|</?s>|<0x")
UNKNOWN = 0
Encode = Callable[[list[str]], list[list[int]]]  # many texts at once
Decode = Callable[[list[list[int]]], list[str]]


def make(folder: Path, files: dict[str, bytes], config: dict[str, Any]) -> bytes:
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return HuggingFaceFolder(folder).tokenizer_files()["tokenizer.json"]


def is_composed(text: str) -> bool:
    """`tokenizers` applies SentencePiece's map of characters to each grapheme, and drops the rest
    of a short one; `sentencepiece` applies it to the longest entry at each place. They differ where
    marks, of any class, or joiners follow a letter. Ours does as `tokenizers`."""
    joined = any(unicodedata.category(letter) in ("Mn", "Mc", "Me", "Cf") for letter in text)
    return not joined and unicodedata.is_normalized("NFKC", text)


def same(
    made: bytes,
    encode: Encode,
    decode: Decode,
    long: bool,
    fits: Callable[[str], bool] = lambda text: True,
) -> None:
    tokenizer = Tokenizer(made.decode())
    for seed in range((1_000_000 if long else 5_000) // CHUNK):
        texts = [
            t
            for t in random_text.random_texts(seed, CHUNK, [])
            if not SPECIAL.search(t) and fits(t)
        ]
        ours = tokenizer.encode_batch(texts, add_special_tokens=False)
        assert not first_difference(texts, ours, encode(texts))
        known = [ids for ids in ours if UNKNOWN not in ids]  # `sentencepiece` writes it as " ⁇ "
        back = tokenizer.decode_batch(known, skip_special_tokens=True)
        assert not first_difference(known, back, decode(known))


@functools.cache
def sentencepiece_file(kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(tokenizer_zoo.corpus()[:-300]),
        model_writer=out,
        vocab_size=800,
        hard_vocab_limit=False,
        model_type=kind,
        character_coverage=0.98,
        num_threads=1,
        minloglevel=2,
        **options,
    )
    return out.getvalue()


LIKE_LLAMA = {
    "byte_fallback": True,
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
}
LIKE_GEMMA = LIKE_LLAMA | {"add_dummy_prefix": False}
SENTENCEPIECE: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "llama": ("bpe", LIKE_LLAMA, {"tokenizer_class": "LlamaTokenizer"}),
    "gemma": ("bpe", LIKE_GEMMA, {"tokenizer_class": "GemmaTokenizer"}),
    "plain bpe": ("bpe", {}, {"tokenizer_class": "LlamaTokenizerFast"}),
    "t5": ("unigram", {}, {"tokenizer_class": "T5Tokenizer"}),
    "unigram, bytes": ("unigram", {"byte_fallback": True}, {}),
}


@pytest.mark.parametrize("name", SENTENCEPIECE)
def test_sentencepiece_models(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    kind, options, config = SENTENCEPIECE[name]
    data = sentencepiece_file(kind, **options)
    reference = sentencepiece.SentencePieceProcessor(model_proto=data)
    made = make(tmp_path, {"tokenizer.model": data}, config)
    same(
        made,
        lambda texts: reference.encode(texts, num_threads=1),
        lambda ids: reference.decode(ids, num_threads=1),
        request.config.getoption("--long", default=False),
        (lambda text: True) if "normalization_rule_name" in options else is_composed,
    )
    bos, eos = (1, None) if name != "t5" else (None, 2)
    ids = Tokenizer(made.decode()).encode_batch(["a b"], add_special_tokens=True)[0]
    assert (ids[0] == bos, ids[-1] == eos) == (bos is not None, eos is not None)


@functools.cache
def ranks() -> dict[bytes, int]:
    """A vocabulary that tiktoken's own trainer learns."""
    text = "\n".join(tokenizer_zoo.corpus()[:60])
    return dict(bpe_train(text, 500, tokenizer_zoo.QWEN2, None))


def tiktoken_file(tokens: dict[bytes, int]) -> bytes:
    lines = (base64.b64encode(token) + b" %d" % rank for token, rank in tokens.items())
    return b"\n".join(lines) + b"\n"


BOS = "<|begin_of_text|>"
TIKTOKEN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "qwen": ("qwen.tiktoken", tokenizer_zoo.QWEN2, {"tokenizer_class": "QWenTokenizer"}),
    "kimi": (
        "tiktoken.model",
        tokenizer_zoo.KIMI,
        {"tokenizer_class": "TikTokenTokenizer", "added_tokens_decoder": {"500": "[BOS]"}},
    ),
    "llama 3": (
        "tokenizer.model",
        tokenizer_zoo.LLAMA3,
        {"added_tokens_decoder": {"500": {"content": BOS}}, "bos_token": BOS},
    ),
}


@pytest.mark.parametrize("name", TIKTOKEN)
def test_tiktoken_files(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    file, pattern, config = TIKTOKEN[name]
    reference = tiktoken.Encoding(
        name, pat_str=pattern, mergeable_ranks=ranks(), special_tokens={"<|endoftext|>": 500}
    )
    composed = normalizers.NFC().normalize_str if name == "qwen" else str
    made = make(tmp_path, {file: tiktoken_file(ranks())}, config)
    same(
        made,
        lambda texts: reference.encode_ordinary_batch([composed(t) for t in texts], num_threads=1),
        lambda ids: reference.decode_batch(ids, num_threads=1),
        request.config.getoption("--long", default=False),
    )
    tokenizer = Tokenizer(made.decode())
    first = {"qwen": "<|endoftext|>", "kimi": "[BOS]", "llama 3": BOS}[name]
    assert tokenizer.token_to_id(first) == 500
    assert tokenizer.encode_batch([f"{first}!"], add_special_tokens=False)[0][0] == 500
    if name == "kimi":
        assert tokenizer.token_to_id("<|reserved_token_755|>") == 755
    begins = tokenizer.encode_batch(["a"], add_special_tokens=True)[0][0] == 500
    assert begins == (name == "llama 3")


def test_vocab_json_and_merges(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    for name, kind in (("gpt2", "GPT2Tokenizer"), ("qwen2", "Qwen2Tokenizer")):
        reference = tokenizer_zoo.get(name)
        assert reference is not None
        batch = reference.encode_batch_fast
        model = json.loads(reference.to_str())["model"]
        merges = "".join(f"{left} {right}\n" for left, right in model["merges"])
        files = {
            "vocab.json": json.dumps(model["vocab"]).encode(),
            "merges.txt": ("#version: 0.2\n" + merges).encode(),
            "added_tokens.json": json.dumps({"<|im_end|>": len(model["vocab"])}).encode(),
        }
        made = make(tmp_path / name, files, {"tokenizer_class": kind})
        same(
            made,
            lambda texts: [e.ids for e in batch(texts, add_special_tokens=False)],  # noqa: B023
            reference.decode_batch,
            request.config.getoption("--long", default=False),
        )
        assert Tokenizer(made.decode()).encode_batch(["<|im_end|>"]) == [[len(model["vocab"])]]


RWKV = [bytes([byte]) for byte in range(256)] + [
    *(word.encode() for word in ("the", " the", "quick", "日本", "é", "\n\n", "\t\t", "''", "12")),
    b"\xe6\x97",
    "🙂".encode()[:3],
]


# RWKV's rule: at each byte the longest token.
LONGEST = re.compile(b"|".join(map(re.escape, sorted(RWKV, key=len, reverse=True))), re.DOTALL)


def rwkv_text() -> bytes:
    def literal(token: bytes) -> str:
        try:
            return repr(token.decode())
        except UnicodeDecodeError:
            return repr(token)

    return "".join(f"{i} {literal(t)} {len(t)}\n" for i, t in enumerate(RWKV, 1)).encode()


def test_rwkv_from_its_list_and_from_gguf(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    ids = {token: index for index, token in enumerate(RWKV, 1)}
    metadata = {
        "tokenizer.ggml.model": "rwkv",
        "tokenizer.ggml.tokens": ["<s>", *(repr(token)[2:-1] for token in RWKV)],
        "tokenizer.ggml.token_type": [3] + [1] * len(RWKV),
    }
    from_gguf = tokenizer_files(metadata, tmp_path / "model.gguf")["tokenizer.json"]
    made = make(tmp_path, {"rwkv_vocab_v20230424.txt": rwkv_text()}, {})
    assert json.loads(from_gguf)["model"] == json.loads(made)["model"]
    text_of = dict(enumerate(RWKV, 1))
    same(
        made,
        lambda texts: [[ids[t] for t in LONGEST.findall(text.encode())] for text in texts],
        lambda found: [b"".join(map(text_of.__getitem__, one)).decode() for one in found],
        request.config.getoption("--long", default=False),
    )


def test_a_literal_that_python_cannot_build_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorruptFileError, match="line 1"):
        make(tmp_path, {"rwkv_vocab_x.txt": b"1 {[]: 0} 1\n"}, {})


def test_gemma4_from_gguf_stops_at_the_ends_of_lines(tmp_path: Path) -> None:
    pieces = ["<unk>", "<bos>", *(f"<0x{b:02X}>" for b in range(256)), "▁", "a", "\n", "\n\n"]
    pieces += ["▁a", "aa", "a\n", "▁a▁a"]
    metadata = {
        "tokenizer.ggml.model": "gemma4",
        "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.token_type": [2, 3] + [6] * 256 + [1] * (len(pieces) - 258),
        "tokenizer.ggml.merges": ["▁ a", "a a", "a \n", "\n \n", "▁a ▁a"],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_bos_token": False,  # files say so, and are wrong
    }
    made = tokenizer_files(metadata, tmp_path / "model.gguf")["tokenizer.json"]
    tokenizer = Tokenizer(made.decode())
    (ids,) = tokenizer.encode_batch([" a aa\n\n\n é"], add_special_tokens=True)
    tokens = [tokenizer.id_to_token(i) for i in ids]
    assert tokens == ["<bos>", "▁a▁a", "a", "\n\n", "\n", "▁", "<0xC3>", "<0xA9>"]
    assert tokenizer.decode_batch([ids], skip_special_tokens=True) == [" a aa\n\n\n é"]


def nan_score() -> bytes:
    """A SentencePiece model of one piece."""
    piece = b"\x0a\x01a\x15" + struct.pack("<f", math.nan)
    return b"\x0a" + bytes([len(piece)]) + piece


@pytest.mark.parametrize("index", ["9" * 12, "9" * 5000, "-1", "1.5", ""])
def test_ids_of_added_tokens_are_those_of_a_vocabulary(index: str, tmp_path: Path) -> None:
    """Larger ones would fill the memory: there is a text for each id below them."""
    config = {"tokenizer_class": "TikTokenTokenizer", "added_tokens_decoder": {index: "a"}}
    with pytest.raises(CorruptFileError, match="added_tokens_decoder.*must have an id"):
        make(tmp_path, {"tiktoken.model": tiktoken_file(ranks())}, config)


@pytest.mark.parametrize("index", [1 << 40, -1, True, "1"])
def test_ids_beside_the_vocabulary_are_too(index: object, tmp_path: Path) -> None:
    files = {"a.tiktoken": tiktoken_file(ranks()), "added_tokens.json": json.dumps({"a": index})}
    data = {
        name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()
    }
    with pytest.raises(CorruptFileError, match="'a' must have an id"):
        make(tmp_path, data, {})


def test_a_token_of_a_megabyte_takes_no_minutes(tmp_path: Path) -> None:
    """It is not copied at each of its letters, to look for two tokens that join to it."""
    tokens = [bytes([byte]) for byte in range(256)] + [b"aa", b"a" * (1 << 20)]
    start = time.process_time()
    file = tiktoken_file({token: rank for rank, token in enumerate(tokens)})
    made = make(tmp_path, {"a.tiktoken": file}, {"tokenizer_class": "QWenTokenizer"})
    assert json.loads(made)["model"]["merges"] == [["a", "a"]]
    assert time.process_time() - start < 60


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    plain = sentencepiece_file("bpe", **LIKE_LLAMA)
    for name, files, config, error, match in (
        ("none", {}, {}, NotFoundError, "tokenizer.json is missing"),
        (
            "fairseq",
            {"tokenizer.model": plain},
            {"tokenizer_class": "XLMRobertaTokenizer"},
            UnsupportedError,
            "tokenizer.model of a XLMRobertaTokenizer is not read; make tokenizer.json",
        ),
        (
            "clip",
            {"merges.txt": b""},
            {"tokenizer_class": "CLIPTokenizer"},
            UnsupportedError,
            "CLIP",
        ),
        ("no ids", {"merges.txt": b""}, {}, NotFoundError, "vocab.json"),
        (
            "gap",
            {"merges.txt": b"", "vocab.json": b'{"a": 0, "b": 2}'},
            {},
            CorruptFileError,
            "vocab.json: the ids must be 0 to 1",
        ),
        ("merge", {"merges.txt": b"a b c\n", "vocab.json": b"{}"}, {}, CorruptFileError, "line 1"),
        (
            "begin",
            {"merges.txt": b"", "vocab.json": b'{"a": 0}'},
            {"bos_token": "<s>", "add_bos_token": True},
            CorruptFileError,
            "tokenizer_config.json: the bos_token '<s>' is not in vocab.json",
        ),
        ("rank", {"tokenizer.model": b"IQ== 1\n"}, {}, CorruptFileError, "line 1 must be a token"),
        ("bytes", {"a.tiktoken": b"IQ== 0\n"}, {}, CorruptFileError, "no token for the byte 0x00"),
        ("rwkv", {"rwkv_vocab_1.txt": b"1 exit() 6\n"}, {}, CorruptFileError, "line 1 must be 1"),
        (
            "half",
            {"rwkv_vocab_1.txt": b"1 '\\ud800' 3\n"},
            {},
            CorruptFileError,
            "must be 1, a lit",
        ),
        (
            "key",
            {"merges.txt": b"", "vocab.json": b'{"\\ud800": 0}'},
            {},
            CorruptFileError,
            "Unicode",
        ),
        ("score", {"tokenizer.model": nan_score()}, {}, CorruptFileError, "score is not a number"),
        (
            "word",
            {"tokenizer.model": sentencepiece_file("word")},
            {},
            UnsupportedError,
            "kind word is not supported",
        ),
    ):
        with pytest.raises(error, match=match):
            make(tmp_path / name, files, config)


def test_damaged_files_give_typed_errors(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """200 damaged files of each kind, 1,000 with --long: an error that names the file, or a
    tokenizer that the core loads or refuses."""
    count = 1000 if request.config.getoption("--long", default=False) else 200
    whole = {
        "tokenizer.model": sentencepiece_file("unigram"),
        "qwen.tiktoken": tiktoken_file(ranks()),
        "rwkv_vocab_1.txt": rwkv_text(),
    }
    for name, data in whole.items():
        rng, refused = random.Random(name), 0
        for _ in range(count):
            broken = bytearray(data[: rng.choice([len(data), rng.randrange(len(data))])])
            for _ in range(rng.randrange(1, 4)):
                if broken:
                    broken[rng.randrange(len(broken))] = rng.randrange(256)
            config = {"tokenizer_class": "QWenTokenizer"} if name.startswith("qwen") else {}
            try:
                made = make(tmp_path / name, {name: bytes(broken)}, config)
            except MLCError as error:
                refused += 1
                assert name in str(error)
            else:
                with contextlib.suppress(CoreError):
                    Tokenizer(made.decode())
        assert refused > count // 4, name
