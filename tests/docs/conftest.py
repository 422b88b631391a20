"""What the pages' commands and programs find: a folder with models and files, and a server."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
for folder in (HERE, TESTS / "python", TESTS / "python" / "convert"):
    sys.path.append(str(folder))

import fake_hub  # noqa: E402
import fake_roles  # noqa: E402
import tiny_adapters  # noqa: E402
import tiny_models  # noqa: E402

from mlc_llm.prepare.model_source import resolve_model  # noqa: E402

LETTERS = {
    "report.txt": "Rain fell, and the harvest was good.\n",
    "letter.txt": "Dear model,\nhow are you?\n",
    "questions.txt": "Who?\n/stats\n",
}


@pytest.fixture(scope="module")
def tiny_home(shared_folder: Path) -> Path:
    """Where what is made of tiny models is kept in this run."""
    return shared_folder / "home"


@pytest.fixture(scope="module")
def reader_folder(tmp_path_factory: pytest.TempPathFactory, tiny_home: Path) -> Path:
    """A folder with what the commands name: a tiny model in all its forms, and letters."""
    folder = tmp_path_factory.mktemp("reader")
    weights = tiny_models.random_weights()
    tiny_models.write_hf_folder(folder / "MODEL", weights)
    tiny_adapters.write_peft(folder / "ADAPTER", tiny_adapters.random_adapter())
    tiny_models.write_gguf(folder / "model.gguf", weights)
    for name, text in LETTERS.items():
        (folder / name).write_text(text)
    fake_roles.write_roles(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLC_LLM_HOME", str(tiny_home))
        made = resolve_model(folder / "MODEL", quantization="q4f32_1", progress=lambda _: None)
    shutil.copytree(made.folder, folder / "dist" / "model-MLC")
    shutil.copy(made.model_lib, folder / "dist" / "model.so")
    return folder


@pytest.fixture(scope="module")
def hub(reader_folder: Path) -> Iterator[str]:
    """The address of a hub that has HF://org/repo."""
    files = {p.name: p.read_bytes() for p in (reader_folder / "MODEL").iterdir()}
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(fake_hub.serve(fake_hub.FakeHub(files))).endpoint
