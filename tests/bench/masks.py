"""What a mask costs: CPU time of the matcher before each token of a text, by kind of shape.

usage: ./dev bench masks [--tokenizer FILE] [--json FILE]

`compile_s` is wall time; masks are timed with warm caches, the fastest of five. The vocabulary is
the default model's, or that of another tokenizer.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from mlc_llm.prepare.model_source import resolve_model

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "grammar"))
from walk import walk  # noqa: E402

WORDS = "The quick brown fox, isn't it? 42 café jumps over the lazy dog"
ENTRY = {
    "type": "object",
    "properties": {"what": {"type": "string"}, "how_many": {"type": "integer"}},
    "required": ["what", "how_many"],
}


def text(**members: Any) -> dict[str, Any]:
    return {"type": "string", **members}


# Each with a value that it admits.
SHAPES: dict[str, tuple[Any, Any]] = {
    "any object": ({"type": "object"}, {"name": WORDS, "list": [1, 2.5, True]}),
    "list of objects": ({"type": "array", "items": ENTRY}, [{"what": WORDS, "how_many": 12}]),
    "enum": ({"enum": ["electronic mail", "telephone"]}, "electronic mail"),
    "integer in bounds": ({"type": "integer", "minimum": -30, "maximum": 12345}, 1234),
    "maxLength 60": (text(maxLength=60), WORDS[:60]),
    "maxLength 80": (text(maxLength=80), WORDS),
    "maxLength 500": (text(maxLength=500), WORDS),
    "minLength 5": (text(minLength=5), WORDS),
    "pattern of words": (text(pattern="^[A-Z][a-z]+( [a-z]+){0,8}$"), "The quick brown fox jumps"),
    "pattern {1,40}": (text(pattern="^[A-Za-z ]{1,40}$"), "The quick brown fox jumps over"),
    "email": (text(format="email"), "john.doe@example.com"),
    "uri": (text(format="uri"), "https" + "://a.example/path/to?x=1#frag"),
    "uuid": (text(format="uuid"), "123e4567-e89b-12d3-a456-426614174000"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tokenizer = options.tokenizer or resolve_model(None).folder / "tokenizer.json"
    tasks = [
        {"kind": "schema", "source": schema, "text": json.dumps(value, ensure_ascii=False)}
        for schema, value in SHAPES.values()
    ]
    found = {}
    for name, answer in zip(SHAPES, walk(tasks, tokenizer=tokenizer), strict=True):
        if "error" in answer:
            raise SystemExit(f"{name}: {answer['error']}")
        found[name] = {
            "compile_s": answer["seconds"],
            "mask_us": statistics.median(answer["mask_us"]),
            "mean_us": statistics.mean(answer["mask_us"]),
            "most_us": max(answer["mask_us"]),
            "accept_us": answer["accept_us"],
        }
        print(f"{name:18}" + "  ".join(f"{k} {v:.3f}" for k, v in found[name].items()))
    print(json.dumps(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
