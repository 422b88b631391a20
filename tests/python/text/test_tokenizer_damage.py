"""A damaged tokenizer.json is a typed error or loads; nothing else ever happens."""

from __future__ import annotations

import json
import random
import time

import pytest
import tokenizer_zoo
from mlc_core_parts import Tokenizer

from mlc_llm._core import CoreError
from mlc_llm.errors import error_from_core

NAMES = ["llama2", "llama3", "unigram_bytes", "flags_lowercase", "bert", "gpt1"]
BROKEN = {"invalid_argument", "corrupt", "unsupported"}
TEXT = "<s> Hello <|eot_id|> Wörld 12345 \u4e16\u754c\n\n  don't [T1] Tok5\x00"


def damaged(rng: random.Random, text: bytes) -> bytes:
    """A cut, flipped bits, or a byte run copied to another place."""
    data = bytearray(text)
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(data[: rng.randrange(len(data))])
    if kind == 1:
        begin = rng.randrange(len(data))
        del data[begin : begin + rng.randrange(1, 50)]
    elif kind == 2:
        begin, to = rng.randrange(len(data)), rng.randrange(len(data))
        data[to:to] = data[begin : begin + rng.randrange(1, 50)]
    else:
        for _ in range(rng.choice((1, 1, 3))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def use(data: bytes) -> None:
    try:
        tokenizer = Tokenizer(data)
    except CoreError as error:
        fault = error_from_core(error)
        assert fault.status in BROKEN and fault.message
        return
    try:
        ids = tokenizer.encode(TEXT, add_special_tokens=True)
        tokenizer.decode(ids + [-1, 2**31 - 1, tokenizer.vocab_size], skip_special_tokens=False)
    except CoreError as error:
        assert error_from_core(error).status == "invalid_argument"  # a character without a token


@pytest.mark.parametrize("name", NAMES)
def test_flips_and_cuts_are_typed_errors_or_load(name: str, request: pytest.FixtureRequest) -> None:
    count = 1000 if request.config.getoption("--long", default=False) else 200
    rng = random.Random(name)
    text = tokenizer_zoo.get(name).to_str().encode()
    head = text.index(b'"model"')  # most of a file is vocabulary; hit what steers it as often
    for i in range(count):
        if i % 2:
            use(damaged(rng, text))
        else:
            use(damaged(rng, text[:head]) + text[head:])


def set_at(state: dict, path: str, value: object) -> None:
    *parents, last = path.split(".")
    for key in parents:
        state = state[int(key)] if isinstance(state, list) else state[key]
    state[last] = value


@pytest.mark.parametrize(
    ("path", "value", "param"),
    [
        ("model.type", "Magic", "model"),
        ("model.vocab", [], "model.vocab"),
        ("model.vocab.hello", 2**40, "model.vocab"),
        ("model.vocab.hello", -1, "model.vocab"),
        ("model.merges", [["a"]], "model.merges[0]"),
        ("model.merges", [["no such", "token"]], "model.merges"),
        ("model.dropout", 0.5, "model.dropout"),
        ("normalizer", {"type": "Shout"}, "normalizer"),
        (
            "normalizer",
            {"type": "Sequence", "normalizers": [{"type": "NFC"}, 1]},
            "normalizer.normalizers[1]",
        ),
        (
            "pre_tokenizer",
            {"type": "Split", "behavior": "Isolated", "invert": False, "pattern": {"Regex": "(a"}},
            "pre_tokenizer.pattern.Regex",
        ),
        ("pre_tokenizer", {"type": "UnicodeScripts"}, "pre_tokenizer"),
        ("decoder", {"type": "CTC"}, "decoder"),
        (
            "post_processor",
            {
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<x>", "type_id": 0}}],
                "special_tokens": {},
            },
            "post_processor.special_tokens.<x>",
        ),
        ("added_tokens", [{"id": 0}], "added_tokens[0].content"),
        ("version", "2.0", ""),
    ],
)
def test_what_cannot_be_run_is_named_by_its_path(path: str, value: object, param: str) -> None:
    state = json.loads(tokenizer_zoo.get("llama2").to_str())
    set_at(state, path, value)
    with pytest.raises(CoreError) as caught:
        Tokenizer(json.dumps(state))
    fault = error_from_core(caught.value)
    assert (fault.param or "") == param and "tokenizer.json" in fault.message


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a|a)*b", r"(?:a?){60}a{60}b", r"\s+$", r"(.*)*x"]
)
def test_hostile_patterns_end_in_time(pattern: str) -> None:
    state = json.loads(tokenizer_zoo.get("gpt2").to_str())
    split = {"type": "Split", "behavior": "Isolated", "invert": False}
    state["pre_tokenizer"] = {**split, "pattern": {"Regex": pattern}}
    tokenizer = Tokenizer(json.dumps(state))
    start = time.process_time()
    for text in ("a" * 5000 + "c", " " * 20000 + "c"):
        try:
            tokenizer.encode(text)
        except CoreError as error:
            assert error_from_core(error).status == "resource_exhausted"
    assert time.process_time() - start < 10


@pytest.mark.parametrize("name", ["gpt2", "o200k", "llama2", "unigram", "bert", "flags"])
@pytest.mark.parametrize("unit", ["a", " ", "\n", "\u0301", "é", "1", "ab ", "[T1] "])
def test_a_megabyte_of_one_thing_takes_seconds(name: str, unit: str) -> None:
    tokenizer = Tokenizer(tokenizer_zoo.get(name).to_str())
    text = unit * (1_000_000 // len(unit.encode()))
    start = time.process_time()
    ids = tokenizer.encode(text)
    tokenizer.decode(ids)
    assert time.process_time() - start < 5
