"""A GGUF file's own types on GPUs: a small model that has all of them, against the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from gpu_engines import (
    COMMON,
    PROMPTS,
    LibraryOf,
    answer,
    compiled,
    leave_samplers_out,
    opened,
    require,
)

from mlc_llm.prepare.model_source import resolve_folder

sys.path.append(str(Path(__file__).parents[1] / "convert"))

from gguf_random import EVERY, HALVES, write_mixed  # noqa: E402

FILES = {"all types in one file": EVERY} | {kind: {} for kind in HALVES}


@pytest.mark.parametrize("device", COMMON)
@pytest.mark.parametrize("name", FILES)
def test_answers_are_those_of_the_cpu(
    device: str,
    name: str,
    tmp_path: Path,
    library_of: LibraryOf,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    require(device)
    is_short = device == "opencl" and name not in HALVES
    if not is_short and not request.config.getoption("--long"):
        pytest.skip("compiles for each type; run with --long")
    leave_samplers_out(monkeypatch)
    write_mixed(tmp_path / "m.gguf", FILES[name], default=name if name in HALVES else "Q4_0")
    # Nobody says how to quantize: the file keeps its types.
    folder = resolve_folder(tmp_path / "m.gguf", device=device, progress=lambda _: None)
    engines = [
        opened(compiled(folder, library_of, device=where), where) for where in (device, "cpu")
    ]
    options = {"logprobs": True, "top_logprobs": 2, "max_tokens": 8}
    for prompt in PROMPTS:
        ours, theirs = (
            answer(engine, prompt, **options).choices[0].logprobs.content for engine in engines
        )
        assert [one.token for one in ours] == [one.token for one in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert one.logprob == pytest.approx(other.logprob, abs=2e-3)
    for engine in engines:
        engine.terminate()
