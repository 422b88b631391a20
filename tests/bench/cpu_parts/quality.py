"""Quality of our schemes and of the peer's files, against float32 weights on one long text."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cpu_parts import measure, models, peer, text
from cpu_parts.agreement import Comparison, Scores

EXACT = "q0f32"
KEPT = peer.ROOT / "build" / "quality"


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
        found[contender.name] = made = scores(contender, windows)
        print(f"  {contender.name}: perplexity {made.perplexity:.4f}, "
              f"top-1 {made.agreement(found[EXACT]):.2%}", flush=True)  # fmt: skip
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


def scores(contender: measure.Contender, windows: list[list[int]]) -> Scores:
    """Kept in build/quality, since a run takes an hour: one that was cut off goes on."""
    text = repr(windows)
    kept = KEPT / f"{_name(contender, text)}.npz"
    if not kept.is_file():
        KEPT.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(dir=KEPT) as folder,
            measure.running([contender], 2) as processes,
        ):
            inputs, output = Path(folder) / "windows.json", Path(folder) / "quality.npz"
            inputs.write_text(text, encoding="ascii")
            processes[contender.name].ask("quality", windows=str(inputs), output=str(output))
            output.rename(kept)
    with np.load(kept) as result:
        return Scores(result["losses"], result["best"])


def _name(contender: measure.Contender, text: str) -> str:
    """Of what the scores follow from: the files, whose names tell their content, and the text."""
    files = [value for key, value in sorted(contender.options.items()) if key != "threads"]
    version = peer.version() if contender.backend == "peer" else ""
    return hashlib.sha256("\n".join([*files, version, text]).encode()).hexdigest()[:24]
