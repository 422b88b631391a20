"""Quality of our schemes and of the peer's files, against float32 weights on one long text."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cpu_parts import measure, models, peer, text
from cpu_parts.agreement import Comparison, Scores

EXACT = "q0f32"


def quality(schemes: Sequence[str], *, tokens: int, with_peer: bool) -> dict[str, Any]:
    """{"text", "tokens", "schemes": {name: {"perplexity", "top1_agreement"}}, "pairs": {scheme:
    `Comparison` with the peer on the same file}}, on the text's first `tokens`."""
    from record import tokenizer

    ids = tokenizer(models.source()).encode(text.quality_text()).ids
    windows = text.windows(ids[:tokens])
    files = _peer_files(schemes) if with_peer else {}
    contenders = measure.ours(list(dict.fromkeys([EXACT, *schemes]))) + list(files.values())
    found: dict[str, Scores] = {}
    for contender in contenders:
        found[contender.name] = scores = _scores(contender, windows)
        print(f"  {contender.name}: perplexity {scores.perplexity:.4f}, "
              f"top-1 {scores.agreement(found[EXACT]):.2%}", flush=True)  # fmt: skip
    return {
        "text": text.description(),
        "tokens": len(found[EXACT].best),
        "schemes": {
            name: {"perplexity": s.perplexity, "top1_agreement": s.agreement(found[EXACT])}
            for name, s in found.items()
        },
        "pairs": {
            scheme: Comparison.of(found[scheme], found[theirs.name], found[EXACT]).record()
            for scheme, theirs in files.items()
        },
    }


def _peer_files(schemes: Sequence[str]) -> dict[str, measure.Contender]:
    """The peer with the file of each scheme that is one."""
    if not peer.PYTHON.is_file():
        print("no peer: its quality is left out", file=sys.stderr)
        return {}
    return {
        scheme: measure.peer_with(models.type_of(scheme))
        for scheme in schemes
        if scheme.startswith(models.PREFIX)
    }


def _scores(contender: measure.Contender, windows: list[list[int]]) -> Scores:
    with (
        tempfile.TemporaryDirectory() as folder,
        measure.running([contender], 2) as processes,
    ):
        inputs, output = Path(folder) / "windows.json", Path(folder) / "quality.npz"
        inputs.write_text(repr(windows), encoding="ascii")
        processes[contender.name].ask("quality", windows=str(inputs), output=str(output))
        with np.load(output) as result:
            return Scores(result["losses"], result["best"])
