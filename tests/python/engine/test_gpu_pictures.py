"""Pictures on GPUs: the tower runs where the text model runs, and the answers are the CPU's."""

from __future__ import annotations

import sys
from pathlib import Path

import picture_chats
import pytest
from gpu_engines import COMMON, LibraryOf, leave_samplers_out, require

from mlc_llm.prepare.model_source import resolve_folder

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "compiler" / "support"), str(TESTS / "convert")]

import tiny_pictures  # noqa: E402

# The plainest tower; rows that see each other; windows, turned queries and positions of three axes;
# vectors for layers of the text.
CASES = ("smolvlm", "gemma3", "qwen2_5_vl", "qwen3_vl")
ALWAYS = (("smolvlm", "opencl"), ("qwen2_5_vl", "vulkan"))


def prepared(case: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model as an -MLC folder; the libraries that the test compiles choose no tokens."""
    leave_samplers_out(monkeypatch)
    monkeypatch.setenv("MLC_LLM_HOME", str(folder / "home"))
    written = tiny_pictures.write_hf_folder(folder / case, case)
    return resolve_folder(written, quantization="q0f32", progress=lambda _: None)


@pytest.mark.parametrize("device", COMMON)
@pytest.mark.parametrize("case", CASES)
def test_answers_about_pictures_are_the_cpus(
    case: str,
    device: str,
    tmp_path: Path,
    library_of: LibraryOf,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if (case, device) not in ALWAYS and not request.config.getoption("--long"):
        pytest.skip("libraries for GPUs are compiled with --long")
    require(device)
    folder = prepared(case, tmp_path, monkeypatch)
    found = [
        picture_chats.answers(folder, library_of(folder, device=kind), kind)
        for kind in (device, "cpu")
    ]
    picture_chats.check(*found)
