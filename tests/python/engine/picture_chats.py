"""What engines are asked about pictures, and their answers.

    python picture_chats.py FOLDER LIBRARY INCLUDES KERNELS

writes those on CUDA, in a process as that of `cuda_emulated.py`.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import cuda_emulated
import numpy as np
import pytest
from PIL import Image

from mlc_llm import MLCEngine
from mlc_llm.errors import CancelledError

TOKENS = 16
SEEDS = (1, 2, 1)  # the last pictures are kept
Answers = list[tuple[list[str], list[float]]]


def message(seed: int) -> Any:
    """Two pictures with text between."""
    rng, parts = np.random.default_rng(seed), []
    for width, height in ((40, 40), (36, 24)):
        file = io.BytesIO()
        pixels = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(file, "PNG")
        parts.append({"type": "text", "text": "a sea, a sun"})
        parts.append({"type": "image_url", "image_url": {"url": file.getvalue(), "detail": "low"}})
    return {"role": "user", "content": parts}


def ask(engine: MLCEngine, seed: int) -> tuple[list[str], list[float]]:
    """The greedy tokens, and their log probabilities."""
    made: Any = engine.chat.completions.create(
        messages=[message(seed)], max_tokens=TOKENS, temperature=0, logprobs=True,
        debug_config={"ignore_eos": True},
    )  # fmt: skip
    tokens = made.choices[0].logprobs.content
    return [token.token for token in tokens], [token.logprob for token in tokens]


def answers(folder: Path, library: Path, device: str) -> Answers:
    with MLCEngine(str(folder), model_lib=str(library), device=device) as engine:
        found = [ask(engine, seed) for seed in SEEDS]
        assert engine.metrics()["encoded_pictures_sum"] == 4, "two pictures are kept"
        leave(engine)
        assert ask(engine, SEEDS[1])[0] == found[1][0], "behind a tower that was stopped"
    return found


def leave(engine: MLCEngine) -> None:
    """Asks about pictures, and ends the request while the tower has them or before."""
    stream: Any = engine.chat.completions.create(
        messages=[message(9)], max_tokens=1000, stream=True, request_id="left",
        debug_config={"ignore_eos": True},
    )  # fmt: skip
    engine.abort("left")
    with pytest.raises(CancelledError):
        list(stream)


def check(found: Answers, expected: Answers) -> None:
    """They are the same, and pictures count."""
    for (tokens, logprobs), (theirs, wanted) in zip(found, expected, strict=True):
        assert tokens == theirs
        np.testing.assert_allclose(logprobs, wanted, atol=1e-3)
    assert found[0] != found[1]


if __name__ == "__main__":
    folder, library, includes, kernels = sys.argv[1:]
    cuda_emulated.register_compiler(includes, Path(kernels))
    print(json.dumps({"answers": answers(Path(folder), Path(library), "cuda")}))
