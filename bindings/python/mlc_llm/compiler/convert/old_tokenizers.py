"""`tokenizer.json` of a Hugging Face folder that has only older tokenizer files.

`vocab.txt` (BERT), `tokenizer.model` (SentencePiece, or tiktoken's ranks), `vocab.json` with
`merges.txt` (GPT-2), `*.tiktoken` and `tiktoken.model`, and `rwkv_vocab_*.txt`. The files do not
say how a text is prepared, so the class in tokenizer_config.json decides, as in transformers; a
class that is not known is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mlc_llm.compiler.convert.byte_vocabulary import (
    is_tiktoken,
    read_rwkv,
    read_tiktoken,
    rwkv_tokenizer,
    tiktoken_tokenizer,
)
from mlc_llm.compiler.convert.json_files import read_json, read_utf8
from mlc_llm.compiler.convert.pretokenizers import PRE_TOKENIZERS
from mlc_llm.compiler.convert.sentencepiece_model import read_sentencepiece
from mlc_llm.compiler.convert.tokenizer_json import (
    CONTROL,
    NORMAL,
    Vocabulary,
    added_token,
    byte_level_tokenizer,
)
from mlc_llm.compiler.convert.wordpiece import from_vocab_txt
from mlc_llm.errors import CorruptFileError, NotFoundError, UnsupportedError

Json = dict[str, Any]
_BY_HAND = (
    "make tokenizer.json with transformers: AutoTokenizer.from_pretrained(FOLDER)"
    ".save_pretrained(FOLDER)"
)
_WORDPIECE = ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "RetriBertTokenizer")
# Whether the token of the beginning and that of the end are added where the config does not say.
_SENTENCEPIECE = {
    "LlamaTokenizer": (True, False),
    "CodeLlamaTokenizer": (True, False),
    "GemmaTokenizer": (True, False),
    "InternLMTokenizer": (True, False),
    "InternLM2Tokenizer": (True, False),
    "InternLM3Tokenizer": (True, False),
    "BaichuanTokenizer": (True, False),
    "OrionTokenizer": (False, False),
    "YiTokenizer": (False, False),
    "T5Tokenizer": (False, True),
}
_BYTE_LEVEL = {  # the splitter, and the token for the ends of a text
    "GPT2Tokenizer": ("gpt-2", "<|endoftext|>"),
    "CodeGenTokenizer": ("gpt-2", "<|endoftext|>"),
    "Qwen2Tokenizer": ("qwen2", "<|endoftext|>"),
}
_LAST_OF_QWEN = 205  # <|extra_0|> to <|extra_204|>
_RESERVED_BY_KIMI = 256
_MOST_TOKENS = 1 << 24  # a larger id is damage, and there is a text for each id below it


def older_tokenizer(folder: Path, config: Json) -> bytes:
    """`config`: the content of tokenizer_config.json. Errors: NotFoundError if there is no
    tokenizer; UnsupportedError for a class that is not known; CorruptFileError with the file."""
    for pattern, read in _READERS.items():
        paths = sorted(folder.glob(pattern))
        if paths:
            return _encoded(read(paths[0], config), paths[0])
    raise NotFoundError(
        f"{folder}: tokenizer.json is missing; download it with the model", param="tokenizer.json"
    )


def _encoded(made: Json, path: Path) -> bytes:
    try:
        return json.dumps(made, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a pair, "\ud800", which JSON can say
        raise CorruptFileError(
            f"{path.parent}: a token of {path.name}, or of the files beside it, is no text of "
            "Unicode; download it again",
            param=path.name,
        ) from None


def _wordpiece(path: Path, config: Json) -> Json:
    kind = _class(config, _WORDPIECE[0])
    if kind not in _WORDPIECE:
        raise _unknown_class(path, kind)
    return from_vocab_txt(read_utf8(path), config, path)


def _model_file(path: Path, config: Json) -> Json:
    data = path.read_bytes()
    if is_tiktoken(data):  # Llama 3's own format
        return _ranks(path, config)
    kind = _class(config, "LlamaTokenizer")
    if kind not in _SENTENCEPIECE:
        raise _unknown_class(path, kind)
    bos, eos = _SENTENCEPIECE[kind]
    model = read_sentencepiece(data, path)
    made = model.to_json(
        path, bos=_flag(config, "add_bos_token", bos), eos=_flag(config, "add_eos_token", eos)
    )
    return _with_added_tokens(made, path, config)


def _merges(path: Path, config: Json) -> Json:
    kind = _class(config, "GPT2Tokenizer")
    if kind not in _BYTE_LEVEL:
        raise _unknown_class(path, kind)
    name, end = _BYTE_LEVEL[kind]
    ids = read_json(path.with_name("vocab.json"))
    whole = all(type(index) is int for index in ids.values())
    if not whole or sorted(ids.values()) != list(range(len(ids))):
        raise CorruptFileError(
            f"{path.with_name('vocab.json')}: the ids must be 0 to {len(ids) - 1}, each once",
            param="vocab.json",
        )
    tokens = sorted(ids, key=lambda token: ids[token])
    special = {_text(config.get(key)) or end for key in ("bos_token", "eos_token", "unk_token")}
    kinds = [CONTROL if token in special else NORMAL for token in tokens]
    pre = PRE_TOKENIZERS[name]
    bos = (_text(config.get("bos_token")) or end) if config.get("add_bos_token") else None
    if bos is not None and bos not in ids:
        raise CorruptFileError(
            f"{path.with_name('tokenizer_config.json')}: the bos_token {bos!r:.80} is not in "
            "vocab.json; download both again",
            param="bos_token",
        )
    made = byte_level_tokenizer(
        Vocabulary(tokens, kinds),
        _read_merges(path),
        pre_tokenizer=pre.to_json(),
        normalizer=pre.normalizer,
        bos=bos,
    )
    return _with_added_tokens(made, path, config)


def _ranks(path: Path, config: Json) -> Json:
    tokens = read_tiktoken(path.read_bytes(), path)
    kind, count = _class(config, "PreTrainedTokenizer"), len(tokens)
    named = {index: token for token, index, _ in _added_tokens(path, config)}
    if kind == "QWenTokenizer":
        extra = [f"<|extra_{number}|>" for number in range(_LAST_OF_QWEN)]
        texts = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *extra]
        return tiktoken_tokenizer(tokens, dict(enumerate(texts, count)), PRE_TOKENIZERS["qwen2"])
    if kind == "TikTokenTokenizer":
        ids = range(count, count + _RESERVED_BY_KIMI)
        specials = {index: f"<|reserved_token_{index}|>" for index in ids} | named
        return tiktoken_tokenizer(tokens, specials, PRE_TOKENIZERS["kimi-k2"])
    if kind == "PreTrainedTokenizer" and named:
        bos = _text(config.get("bos_token"))
        pre = PRE_TOKENIZERS["llama-bpe"]
        return tiktoken_tokenizer(tokens, named, pre, bos=bos if bos in named.values() else None)
    raise _unknown_class(path, kind)


def _rwkv(path: Path, config: Json) -> Json:
    del config
    return rwkv_tokenizer(read_rwkv(path.read_bytes(), path))


_READERS: dict[str, Callable[[Path, Json], Json]] = {
    "vocab.txt": _wordpiece,
    "tokenizer.model": _model_file,
    "merges.txt": _merges,
    "*.tiktoken": _ranks,
    "tiktoken.model": _ranks,
    "rwkv_vocab_*.txt": _rwkv,
}


def _with_added_tokens(made: Json, path: Path, config: Json) -> Json:
    """Adds the tokens that stand beside the vocabulary's file."""
    entries = {entry["content"]: entry for entry in made["added_tokens"]}
    for token, index, special in _added_tokens(path, config):
        entries[token] = added_token(token, index, special=special)
    made["added_tokens"] = sorted(entries.values(), key=lambda entry: entry["id"])
    return made


def _added_tokens(path: Path, config: Json) -> list[tuple[str, int, bool]]:
    """Text, id, and whether it is special: from tokenizer_config.json and added_tokens.json."""
    found: dict[str, tuple[str, int, bool]] = {}
    beside = path.with_name("added_tokens.json")
    for token, index in (read_json(beside) if beside.is_file() else {}).items():
        if type(index) is not int or not 0 <= index < _MOST_TOKENS:
            raise CorruptFileError(f"{beside}: {token!r} must have an id", param=beside.name)
        found[token] = (token, index, True)
    decoder = config.get("added_tokens_decoder")
    for key, entry in (decoder if isinstance(decoder, Mapping) else {}).items():
        token = _text(entry)
        digits = str(key)
        is_id = digits.isdecimal() and len(digits) < 9 and int(digits) < _MOST_TOKENS
        if not token or not is_id:
            raise CorruptFileError(
                f"{path.parent}: added_tokens_decoder[{key!r:.40}] in tokenizer_config.json must "
                "have an id and a content",
                param="added_tokens_decoder",
            )
        special = isinstance(entry, Mapping) and entry.get("special", True) is not False
        found[token] = (token, int(key), special)
    return list(found.values())


def _read_merges(path: Path) -> list[tuple[str, str]]:
    """`merges.txt`: two tokens a line, the best pair first. A first line may say the version."""
    merges: list[tuple[str, str]] = []
    for number, line in enumerate(read_utf8(path).split("\n"), 1):
        if not line.strip() or (number == 1 and line.startswith("#version")):
            continue
        left, _, right = line.rstrip("\r").partition(" ")
        if not left or not right or " " in right:
            raise CorruptFileError(
                f"{path}: line {number} must be two tokens, not {line!r:.80}", param=path.name
            )
        merges.append((left, right))
    return merges


def _class(config: Json, default: str) -> str:
    return str(config.get("tokenizer_class") or default).removesuffix("Fast")


def _text(value: Any) -> str | None:
    """A token, which configs write as a text or as an object."""
    value = value.get("content") if isinstance(value, Mapping) else value
    return value if isinstance(value, str) and value else None


def _flag(config: Json, key: str, default: bool) -> bool:
    value = config.get(key)
    return value if isinstance(value, bool) else default


def _unknown_class(path: Path, kind: str) -> UnsupportedError:
    return UnsupportedError(
        f"{path}: the {path.name} of a {kind} is not read; {_BY_HAND}", param="tokenizer_class"
    )
