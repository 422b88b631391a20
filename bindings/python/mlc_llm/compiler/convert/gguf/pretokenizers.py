"""Turns `tokenizer.ggml.pre` into a Hugging Face pre-tokenizer.

A GGUF file has only the name of its text splitter. (Facts: ggml-org/llama.cpp, src/llama-vocab.cpp,
for names and expressions; the tokenizer.json files of these models, for Hugging Face's form of the
same split.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# Code points in hexadecimal, since many of these letters look like other letters.
_CASED_LETTERS = """
00B5 00C0-00D6 00D8-00F6 00F8-01BA 01BC-01BF 01C4-0293 0295-02AF 0370-0373 0376 0377 037B-037D
037F 0386 0388-038A 038C 038E-03A1 03A3-03F5 03F7-0481 048A-052F 0531-0556 10A0-10C5 13A0-13F5
13F8-13FD 1C90-1CBA 1CBD-1CBF 1D00-1D2B 1D6B-1D77 1D79-1D9A 1E00-1F15 1F18-1F1D 1F20-1F45 1F48-1F4D
1F50-1F57 1F59 1F5B 1F5D 1F5F-1F7D 1F80-1FB4 1FB6-1FBC 1FBE 1FC2-1FC4 1FC6-1FCC 1FD0-1FD3 1FD6-1FDB
1FE0-1FEC 1FF2-1FF4 1FF6-1FFC 2102 2107 210A-2113 2115 2119-211D 2124 2126 2128 212A-212D 212F-2134
2139 213C-213F 2145-2149 214E 2183 2184 2C00-2C7B 2C7E-2CE4 2CEB-2CEE 2CF2 2CF3 A640-A66D A680-A69B
A722-A76F A771-A787 A78B-A78E AB70-ABBF FB00-FB06 FB13-FB17 FF21-FF3A FF41-FF5A 10400-1044F
104B0-104D3 104D8-104FB 10C80-10CB2 10CC0-10CF2 118A0-118DF 1E900-1E943
"""
_CJK = "4E00-9FA5 0800-4E00 AC00-D7FF"
_CJK_AND_KANA = "4E00-9FA5 3040-309F 30A0-30FF"
_PUNCTUATION = "FF01-FF0F FF1A-FF5E 2018-201F 3000-3002"


def _class(ranges: str) -> str:
    """The inside of a character class."""
    ends = (pair.split("-") for pair in ranges.split())
    return "".join("-".join(chr(int(end, 16)) for end in pair) for pair in ends)


_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORDS = r"|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = _CONTRACTIONS + _WORDS % r"\p{N}{1,3}"
_QWEN2 = _CONTRACTIONS + _WORDS % r"\p{N}"
# Marks belong to the letters before them.
_QWEN35 = _CONTRACTIONS + (
    r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_DEEPSEEK3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True)
class PreTokenizer:
    """How text is split before merging, and the related settings."""

    steps: tuple[dict[str, Any], ...]
    normalizer: dict[str, Any] | None = None
    ignore_merges: bool = False
    add_bos: bool = False  # used if the file does not say
    aliases: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """The `pre_tokenizer` entry of tokenizer.json."""
        if len(self.steps) == 1:
            return self.steps[0]
        return {"type": "Sequence", "pretokenizers": list(self.steps)}


def _byte_level(*, use_regex: bool) -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": use_regex,
    }


def _split(expression: str) -> dict[str, Any]:
    pattern = {"Regex": expression}
    return {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}


_DIGITS: dict[str, Any] = {"type": "Digits", "individual_digits": True}
_BYTES = _byte_level(use_regex=False)
_NFC = {"type": "NFC"}

_TABLE = {
    "gpt-2": PreTokenizer(
        (_byte_level(use_regex=True),),
        aliases=("default", "phi-2", "olmo", "jais", "mpt", "trillion", "exaone4"),
    ),
    "smollm": PreTokenizer(
        (_DIGITS, _byte_level(use_regex=True)),
        aliases=("starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"),
    ),
    "llama-bpe": PreTokenizer(
        (_split(_LLAMA3), _BYTES),
        ignore_merges=True,
        add_bos=True,
        aliases=("llama3", "llama-v3", "falcon3"),
    ),
    "qwen2": PreTokenizer(
        (_split(_QWEN2), _BYTES), normalizer=_NFC, aliases=("deepseek-r1-qwen", "megrez")
    ),
    "qwen35": PreTokenizer((_split(_QWEN35), _BYTES), normalizer=_NFC),
    "deepseek-llm": PreTokenizer(
        (
            _split("[\r\n]"),
            _split(rf"\s?[A-Za-z{_class(_CASED_LETTERS)}]+"),
            _split(rf"\s?[!-/:-~{_class(_PUNCTUATION)}]+"),
            _split(r"\s+$"),
            _split(f"[{_class(_CJK)}]+"),
            _DIGITS,
            _BYTES,
        ),
        add_bos=True,
    ),
    "deepseek-coder": PreTokenizer(
        (
            _split("[\r\n]"),
            _split(r"\s?\p{L}+"),
            _split(r"\s?\p{P}+"),
            _split(f"[{_class(_CJK)}]+"),
            _DIGITS,
            _BYTES,
        ),
        add_bos=True,
    ),
    "deepseek-v3": PreTokenizer(
        (_split(r"\p{N}{1,3}"), _split(f"[{_class(_CJK_AND_KANA)}]+"), _split(_DEEPSEEK3), _BYTES),
        add_bos=True,
        aliases=("hunyuan-dense",),
    ),
}

PRE_TOKENIZERS: dict[str, PreTokenizer] = {
    name: entry for key, entry in _TABLE.items() for name in (key, *entry.aliases)
}
