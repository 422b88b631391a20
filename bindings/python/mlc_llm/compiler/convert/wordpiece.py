"""Writes `tokenizer.json` for BERT's tokenizer: from a `vocab.txt`, or from a GGUF vocabulary.

(Facts: huggingface/transformers, BertConverter in convert_slow_tokenizer.py; ggml-org/llama.cpp,
BertModel in convert_hf_to_gguf.py.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlc_llm.compiler.convert.tokenizer_json import added_token
from mlc_llm.errors import CorruptFileError

_CONTINUES, _WORD = "##", "▁"
_MOST_CHARACTERS = 100  # of a word; a longer word is unknown


@dataclass(frozen=True, kw_only=True)
class WordPiece:
    """A vocabulary in `vocab.txt`'s form, and how texts are prepared for it."""

    tokens: Sequence[str]
    lowercase: bool = True
    strip_accents: bool | None = None  # None: if `lowercase`
    chinese_apart: bool = True  # each Chinese character is a word
    unk: str = "[UNK]"
    cls: str = "[CLS]"
    sep: str = "[SEP]"
    others: tuple[str, ...] = ("[PAD]", "[MASK]")  # further special tokens

    def to_json(self, path: Path) -> dict[str, Any]:
        """`path` is only for the error."""
        ids: dict[str, int] = {}
        for index, token in enumerate(self.tokens):
            ids[token] = index  # as transformers: the last one counts
        for token in (self.unk, self.cls, self.sep):
            if token not in ids:
                raise CorruptFileError(
                    f"{path}: the vocabulary has no token {token!r}", param=str(path)
                )
        special = [token for token in (*self.others, self.unk, self.cls, self.sep) if token in ids]
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [
                added_token(token, ids[token], special=True)
                for token in sorted(special, key=ids.get)
            ],
            "normalizer": {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": self.chinese_apart,
                "strip_accents": self.strip_accents,
                "lowercase": self.lowercase,
            },
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": _around(self.cls, self.sep, ids),
            "decoder": {"type": "WordPiece", "prefix": _CONTINUES, "cleanup": True},
            "model": {
                "type": "WordPiece",
                "unk_token": self.unk,
                "continuing_subword_prefix": _CONTINUES,
                "max_input_chars_per_word": _MOST_CHARACTERS,
                "vocab": ids,
            },
        }


def from_vocab_txt(text: str, config: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """`config`: the content of tokenizer_config.json, or {}."""

    def token(name: str, default: str) -> str:
        value = config.get(name)
        value = value.get("content") if isinstance(value, Mapping) else value
        return value if isinstance(value, str) and value else default

    accents = config.get("strip_accents")
    made = WordPiece(
        tokens=text.removesuffix("\n").split("\n") if text else [],
        lowercase=config.get("do_lower_case", True) is not False,
        strip_accents=accents if isinstance(accents, bool) else None,
        chinese_apart=config.get("tokenize_chinese_chars", True) is not False,
        unk=token("unk_token", "[UNK]"),
        cls=token("cls_token", "[CLS]"),
        sep=token("sep_token", "[SEP]"),
        others=(token("pad_token", "[PAD]"), token("mask_token", "[MASK]")),
    )
    return made.to_json(path)


def from_phantom_spaces(tokens: Sequence[str]) -> list[str]:
    """The tokens of `vocab.txt` from llama.cpp's: ▁ before the beginnings of words, and no ##."""
    return [_from_phantom_space(token) for token in tokens]


def _from_phantom_space(token: str) -> str:
    if token.startswith("[") and token.endswith("]"):
        return token
    begins_word = token.startswith(_WORD) and token != _WORD  # no word is empty
    return token[1:] if begins_word else _CONTINUES + token


def is_lowercase(tokens: Sequence[str]) -> bool:
    """Whether no word has a capital letter of ASCII: then texts are changed to small letters."""
    words = (token for token in tokens if not token.startswith("["))
    return not any("A" <= letter <= "Z" for word in words for letter in word)


def _around(cls: str, sep: str, ids: Mapping[str, int]) -> dict[str, Any]:
    def special(token: str, type_id: int) -> dict[str, Any]:
        return {"SpecialToken": {"id": token, "type_id": type_id}}

    def text(name: str, type_id: int) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": type_id}}

    single = [special(cls, 0), text("A", 0), special(sep, 0)]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, text("B", 1), special(sep, 1)],
        "special_tokens": {
            token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in (cls, sep)
        },
    }
