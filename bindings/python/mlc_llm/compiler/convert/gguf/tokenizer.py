"""Rebuilds a Hugging Face tokenizer from GGUF metadata.

Six vocabularies are supported: `gpt2` (byte-level BPE with its list of merges), `llama`
(SentencePiece BPE: pieces with scores, from which the merges follow), `gemma4` (the same with a
list of merges), `bert` (WordPiece), `t5` (SentencePiece Unigram) and `rwkv` (longest matches).
Others are refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlc_llm.compiler.convert.byte_vocabulary import byte_text, unescaped
from mlc_llm.compiler.convert.pretokenizers import PRE_TOKENIZERS
from mlc_llm.compiler.convert.tokenizer_json import (
    NORMAL,
    Vocabulary,
    byte_level_tokenizer,
    longest_match_tokenizer,
    sentencepiece_tokenizer,
    unigram_tokenizer,
)
from mlc_llm.compiler.convert.wordpiece import WordPiece, from_phantom_spaces, is_lowercase
from mlc_llm.errors import CorruptFileError, UnsupportedError

_PREFIX = "tokenizer.ggml."
_TEMPLATE = "tokenizer.chat_template"
_SPECIAL_KEYS = {
    "bos_token": "bos_token_id",
    "eos_token": "eos_token_id",
    "unk_token": "unknown_token_id",
    "pad_token": "padding_token_id",
    # the tokens around the parts of a prompt with a gap, which the core reads under these names
    "fim_pre_token": "fim_pre_token_id",
    "fim_suf_token": "fim_suf_token_id",
    "fim_mid_token": "fim_mid_token_id",
}


def tokenizer_files(metadata: dict[str, Any], path: Path) -> dict[str, bytes]:
    """tokenizer.json and tokenizer_config.json of the model in `path`."""
    fields = _Fields(metadata, path)
    kind = metadata.get(_PREFIX + "model")
    if not isinstance(kind, str) or kind not in _READERS:
        raise UnsupportedError(
            f"{path}: tokenizer model {kind!r} cannot be rebuilt; {', '.join(_READERS)} can",
            param=_PREFIX + "model",
        )
    tokenizer, add_bos = _READERS[kind](fields)
    config = _config(fields, add_bos)
    return {
        "tokenizer.json": json.dumps(tokenizer, ensure_ascii=False).encode(),
        "tokenizer_config.json": json.dumps(config, ensure_ascii=False, indent=2).encode(),
    }


def _byte_level(fields: _Fields) -> tuple[dict[str, Any], bool]:
    name = fields.metadata.get(_PREFIX + "pre", "default")
    pre = PRE_TOKENIZERS.get(name) if isinstance(name, str) else None
    if pre is None:
        raise UnsupportedError(
            f"{fields.path}: pre-tokenizer {name!r} is not known, and text would be split wrongly; "
            f"known: {', '.join(sorted(PRE_TOKENIZERS))}. Use the model's Hugging Face folder",
            param=_PREFIX + "pre",
        )
    add_bos = fields.flag("add_bos_token", pre.add_bos)
    tokenizer = byte_level_tokenizer(
        fields.vocabulary(),
        _merges(fields),
        pre_tokenizer=pre.to_json(),
        normalizer=pre.normalizer,
        ignore_merges=pre.ignore_merges,
        bos=fields.token("bos_token_id") if add_bos else None,
        eos=_last(fields, pre.add_sep),
    )
    return tokenizer, add_bos


def _last(fields: _Fields, add_sep: bool) -> str | None:
    """The token behind a text: its end, or the separator."""
    if fields.flag("add_eos_token", False):
        return fields.token("eos_token_id")
    return fields.token("seperator_token_id") if fields.flag("add_sep_token", add_sep) else None


def _sentencepiece(fields: _Fields) -> tuple[dict[str, Any], bool]:
    add_bos = fields.flag("add_bos_token", True)
    tokenizer = sentencepiece_tokenizer(
        fields.vocabulary(),
        fields.scores(),
        add_prefix_space=fields.flag("add_space_prefix", True),
        unk=fields.token("unknown_token_id"),
        bos=fields.token("bos_token_id") if add_bos else None,
        eos=fields.token("eos_token_id") if fields.flag("add_eos_token", False) else None,
    )
    return tokenizer, add_bos


def _gemma4(fields: _Fields) -> tuple[dict[str, Any], bool]:
    """SentencePiece's pieces with a list of merges; no merge goes across the end of a line. The
    token of the beginning is always added, whatever the file says, as llama.cpp does."""
    tokenizer = sentencepiece_tokenizer(
        fields.vocabulary(),
        merges=_merges(fields),
        pre_tokenizer={
            "type": "Split",
            "pattern": {"Regex": r"[^\n]+|\n+"},
            "behavior": "Isolated",
            "invert": False,
        },
        add_prefix_space=False,
        unk=fields.token("unknown_token_id"),
        bos=fields.token("bos_token_id"),
        eos=fields.token("eos_token_id") if fields.flag("add_eos_token", False) else None,
    )
    return tokenizer, True


def _rwkv(fields: _Fields) -> tuple[dict[str, Any], bool]:
    found = fields.vocabulary()
    tokens = [
        byte_text(unescaped(token)) if kind == NORMAL else token
        for token, kind in zip(found.tokens, found.kinds, strict=True)
    ]
    return longest_match_tokenizer(Vocabulary(tokens, found.kinds)), False


def _wordpiece(fields: _Fields) -> tuple[dict[str, Any], bool]:
    tokens = from_phantom_spaces(fields.vocabulary().tokens)

    def token(default: str, *keys: str) -> str:
        return next((found for key in keys if (found := fields.token(key))), default)

    tokenizer = WordPiece(
        tokens=tokens,
        lowercase=is_lowercase(tokens),
        unk=token("[UNK]", "unknown_token_id"),
        cls=token("[CLS]", "cls_token_id", "bos_token_id"),
        sep=token("[SEP]", "seperator_token_id", "separator_token_id", "eos_token_id"),
        others=(token("[PAD]", "padding_token_id"), token("[MASK]", "mask_token_id")),
    )
    return tokenizer.to_json(fields.path), True


def _unigram(fields: _Fields) -> tuple[dict[str, Any], bool]:
    add_bos = fields.flag("add_bos_token", False)
    tokenizer = unigram_tokenizer(
        fields.vocabulary(),
        fields.scores(),
        charsmap=fields.octets("precompiled_charsmap"),
        one_space=fields.flag("remove_extra_whitespaces", False),
        add_prefix_space=fields.flag("add_space_prefix", True),
        unk=fields.token("unknown_token_id"),
        bos=fields.token("bos_token_id") if add_bos else None,
        eos=fields.token("eos_token_id") if fields.flag("add_eos_token", True) else None,
    )
    return tokenizer, add_bos


_READERS: dict[str, Callable[[_Fields], tuple[dict[str, Any], bool]]] = {
    "bert": _wordpiece,
    "gemma4": _gemma4,
    "gpt2": _byte_level,
    "llama": _sentencepiece,
    "rwkv": _rwkv,
    "t5": _unigram,
}


def _merges(fields: _Fields) -> list[tuple[str, str]]:
    merges: list[tuple[str, str]] = []
    for index, text in enumerate(fields.strings("merges")):
        left, space, right = text.partition(" ")
        if not left or not space or not right or " " in right:
            raise fields.bad(f"merges[{index}]", f"must be two pieces, not {text!r:.80}")
        merges.append((left, right))
    return merges


def _config(fields: _Fields, add_bos: bool) -> dict[str, Any]:
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "add_bos_token": add_bos,
        "add_eos_token": fields.flag("add_eos_token", False),
    }
    for name, key in _SPECIAL_KEYS.items():
        token = fields.token(key)
        if token is not None:
            config[name] = token
    templates = {
        key[len(_TEMPLATE) + 1 :] or "default": value
        for key, value in fields.metadata.items()
        if (key == _TEMPLATE or key.startswith(_TEMPLATE + ".")) and isinstance(value, str)
    }
    if list(templates) == ["default"]:
        config["chat_template"] = templates["default"]
    elif templates:
        config["chat_template"] = [{"name": n, "template": t} for n, t in templates.items()]
    return config


class _Fields:
    """Checked access to the `tokenizer.ggml.*` metadata."""

    def __init__(self, metadata: dict[str, Any], path: Path) -> None:
        self.metadata, self.path = metadata, path
        self._tokens = self.strings("tokens")

    def strings(self, key: str) -> list[str]:
        value = self.metadata.get(_PREFIX + key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.bad(key, "must be a list of strings")
        return value

    def vocabulary(self) -> Vocabulary:
        kinds = self.metadata.get(_PREFIX + "token_type", [1] * len(self._tokens))
        if not self._is_list_of(kinds, int):
            raise self.bad("token_type", f"must hold {len(self._tokens)} whole numbers")
        return Vocabulary(self._tokens, kinds)

    def scores(self) -> list[float]:
        scores = self.metadata.get(_PREFIX + "scores")
        if scores is None or not self._is_list_of(scores, float):
            raise self.bad("scores", f"must hold {len(self._tokens)} numbers")
        return list(scores)

    def octets(self, key: str) -> bytes:
        """A list of bytes; empty if there is none."""
        value = self.metadata.get(_PREFIX + key, [])
        if not isinstance(value, list) or any(
            type(v) is not int or not -128 <= v < 256 for v in value
        ):
            raise self.bad(key, "must be a list of bytes")
        return bytes(v & 255 for v in value)

    def token(self, key: str) -> str | None:
        """The text of the token whose id is the value of `key`."""
        index = self.metadata.get(_PREFIX + key)
        if type(index) is int and index < len(self._tokens):
            return self._tokens[index]
        return None

    def flag(self, key: str, default: bool) -> bool:
        value = self.metadata.get(_PREFIX + key, default)
        return value if isinstance(value, bool) else default

    def bad(self, key: str, problem: str) -> CorruptFileError:
        name = _PREFIX + key
        return CorruptFileError(f"{self.path}: {name!r} {problem}", param=name)

    def _is_list_of(self, value: Any, kind: type) -> bool:
        right_length = isinstance(value, list) and len(value) == len(self._tokens)
        return right_length and all(type(item) is kind for item in value)
