"""examples/medusa trains heads for a tiny model, and the commands of its README.md and of
docs/speculation.md convert the model with them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from mlc_llm import MLCEngine
from mlc_llm.compiler.compile import compile_model, read_chat_config

PROGRAM = Path(__file__).parents[3] / "examples/medusa/train.py"
QUICK = "--heads 2 --vocab 64 --questions 40 --tokens 24 --epochs 30 --minutes 2".split()
ASKED = ["Write a poem about rain.", "Why is salt important?"]


def answers(folder: Path, library: Path, **settings: object) -> tuple[list[str], dict]:
    options = {"model_lib": str(library), "device": "cpu", "engine_config": settings}
    with MLCEngine(str(folder), **options) as engine:
        made = [
            engine.chat.completions.create(
                messages=[{"role": "user", "content": text}], temperature=0, max_tokens=40
            )
            for text in ASKED
        ]
        return [one.choices[0].message.content for one in made], engine.metrics()


def test_the_heads_are_right_and_change_no_answer(
    tiny_hf_folder: Path, tmp_path: Path, mlc_llm: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    heads, made = tmp_path / "heads", tmp_path / "MODEL-MLC"
    done = subprocess.run(
        [sys.executable, PROGRAM, tiny_hf_folder, "--output", heads, *QUICK],
        capture_output=True, text=True, timeout=300,
        env={**os.environ, "MLC_LLM_HOME": str(tmp_path / "home")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for command in ("gen_config", "convert_weight"):
        options = ("--quantization", "q4f32_1", "--draft", heads, "-o", made)
        converted = mlc_llm(command, tiny_hf_folder, *options)
        assert converted.returncode == 0, converted.stderr
    library = tmp_path / "lib.so"
    compile_model(read_chat_config(made), output=library, device="cpu")
    plain, _ = answers(made, library, speculative_mode="disable")
    drafted, metrics = answers(made, library, speculative_mode="medusa", spec_draft_length=2)
    assert drafted == plain
    assert sum(metrics["spec_decode"]["accept_count"][1:]) > 0
