"""`tokenizer.ggml.pre` to a Hugging Face pre-tokenizer.

A GGUF file names its text splitter and does not hold it. (Facts: ggml-org/llama.cpp,
src/llama-vocab.cpp, for names and expressions; the tokenizer.json files of the models named, for
how Hugging Face writes the same split.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_LETTERS = (
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝ"
    "Ὗ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆ"
    "ﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORDS = r"|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = _CONTRACTIONS + _WORDS % r"\p{N}{1,3}"
_QWEN2 = _CONTRACTIONS + _WORDS % r"\p{N}"
_DEEPSEEK3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True)
class PreTokenizer:
    """How text is split before merging, and what goes with it."""

    steps: tuple[dict[str, Any], ...]
    normalizer: dict[str, Any] | None = None
    ignore_merges: bool = False
    add_bos: bool = False  # where the file does not say
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
    "deepseek-llm": PreTokenizer(
        (
            _split("[\r\n]"),
            _split(rf"\s?[{_LETTERS}]+"),
            _split(r"\s?[!-/:-~！-／：-～‘-‟　-。]+"),
            _split(r"\s+$"),
            _split("[一-龥ࠀ-一가-퟿]+"),
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
            _split("[一-龥ࠀ-一가-퟿]+"),
            _DIGITS,
            _BYTES,
        ),
        add_bos=True,
    ),
    "deepseek-v3": PreTokenizer(
        (_split(r"\p{N}{1,3}"), _split("[一-龥぀-ゟ゠-ヿ]+"), _split(_DEEPSEEK3), _BYTES),
        add_bos=True,
        aliases=("deepseek-v3", "hunyuan-dense"),
    ),
}

PRE_TOKENIZERS: dict[str, PreTokenizer] = {
    name: entry for key, entry in _TABLE.items() for name in (key, *entry.aliases)
}
